import { Command } from 'commander';
import { type Voice, withConfig } from './command.ts';
import type { ModelsOptions } from './print-models.ts';

/** `sluice models`. Only the provider has to be configured; facts that the server does not report are marked in the output. */
export const modelsCommand = ({ print }: Voice): Command =>
  withConfig(new Command('models'))
    .description('ask a provider for its models, and print them as `models:` to paste into a configuration')
    .requiredOption('-p, --provider <NAME>', 'a provider of the configuration')
    .action(async (options: ModelsOptions) => {
      const { printModels } = await import('./print-models.ts');
      await printModels(options, print);
    });
