import { Command } from 'commander';
import { type Voice, withConfig } from './command.ts';
import type { ModelsOptions } from './print-models.ts';

/** `sluice check`. */
export const checkCommand = ({ print }: Voice): Command =>
  withConfig(new Command('check'))
    .description('list everything that is wrong with a configuration')
    .action(async ({ config }: { config: string }) => {
      const { loadConfig } = await import('../config/load.ts');
      const { tryPlugins } = await import('../try-plugins.ts');
      const settings = await loadConfig(config);
      await tryPlugins(settings, config);
      const { models, providers, stages, warnings } = settings;
      for (const warning of warnings) print(`warning: ${warning}`);
      const names = stages.map(stage => stage.name).join(', ');
      print(`${config}: ok; ${models.length} models, ${providers.length} providers, stages: ${names}`);
    });

/** `sluice schema`. */
export const schemaCommand = ({ print }: Voice): Command =>
  new Command('schema').description("print the configuration's JSON Schema, for editors").action(async () => {
    const { configJsonSchema } = await import('../config/json-schema.ts');
    print(JSON.stringify(configJsonSchema(), null, 2));
  });

/** `sluice models`. Only the provider has to be configured; facts that the server does not report are marked in the output. */
export const modelsCommand = ({ print }: Voice): Command =>
  withConfig(new Command('models'))
    .description('ask a provider for its models, and print them as `models:` to paste into a configuration')
    .requiredOption('-p, --provider <NAME>', 'a provider of the configuration')
    .action(async (options: ModelsOptions) => {
      const { printModels } = await import('./print-models.ts');
      await printModels(options, print);
    });
