import { Command, Option } from 'commander';
import { ConfigError } from '../common/config-error.ts';
import { fieldPath } from '../common/field-path.ts';
import { CommandMistake, type Voice, withConfig } from './command.ts';
import type { ModelsOptions } from './print-models.ts';

interface CheckOptions {
  readonly config: string;
  readonly format: 'text' | 'json';
}

/** `sluice check`. */
export const checkCommand = ({ print }: Voice): Command =>
  withConfig(new Command('check'))
    .description('list everything that is wrong with a configuration')
    .addOption(textOrJson())
    .addHelpText(
      'after',
      `
Opens no store and asks no server. With --format json it prints one object, also for a file that cannot be read:
ok, file, mistakes (each with path, line or null, and message), warnings, and the names of models, providers and
stages, which are empty if there are mistakes.`,
    )
    .action(async ({ config, format }: CheckOptions) => {
      if (format === 'json') return printReport(config, print);
      const { models, providers, stages, warnings } = await checked(config);
      for (const warning of warnings) print(`warning: ${warning}`);
      const names = stages.map(stage => stage.name).join(', ');
      print(`${config}: ok; models: ${models.length}, providers: ${providers.length}, stages: ${names}`);
    });

/** `--format text` or `json`. */
export const textOrJson = (): Option =>
  new Option('--format <FORMAT>', 'text for people, json for programs')
    .choices(['text', 'json'])
    .default('text');

async function checked(file: string) {
  const { loadConfig } = await import('../config/load.ts');
  const { tryPlugins } = await import('../mount/try-plugins.ts');
  const settings = await loadConfig(file);
  await tryPlugins(settings, file);
  return settings;
}

/** Prints the result of a check as one object. Throws a CommandMistake without a message if there are mistakes. */
async function printReport(file: string, print: Voice['print']): Promise<void> {
  const empty = { warnings: [], mistakes: [], models: [], providers: [], stages: [] };
  try {
    const { warnings, models, providers, stages } = await checked(file);
    const found = {
      warnings,
      models: models.map(({ id }) => id),
      providers: providers.map(({ name }) => name),
      stages: stages.map(({ name }) => name),
    };
    print(JSON.stringify({ ok: true, file, ...empty, ...found }, null, 2));
  } catch (thrown) {
    print(JSON.stringify({ ok: false, file, ...empty, mistakes: mistakesIn(thrown) }, null, 2));
    throw new CommandMistake('');
  }
}

/** `line` is null for what stands on no line, such as a file that cannot be read. */
function mistakesIn(thrown: unknown): { path: string; line: number | null; message: string }[] {
  if (!(thrown instanceof ConfigError)) return [{ path: '', line: null, message: (thrown as Error).message }];
  return thrown.issues.map(({ path, line, message }) => ({
    path: fieldPath(path),
    line: line ?? null,
    message,
  }));
}

interface PrintOptions {
  readonly config: string;
  readonly format: 'yaml' | 'json';
}

/** `sluice print-config`. */
export const printConfigCommand = ({ print }: Voice): Command =>
  withConfig(new Command('print-config'))
    .description('print the configuration as it is in effect: with all defaults, and with secrets masked')
    .addOption(new Option('--format <FORMAT>', 'how it is printed').choices(['yaml', 'json']).default('yaml'))
    .addHelpText(
      'after',
      `
What came from a variable or a file is shown as \${NAME} or \${file:PATH}; other secrets, and texts that are not
known to be harmless, as ***. The output is for reading: some defaults are refused when they are written out.`,
    )
    .action(async ({ config: file, format }: PrintOptions) => {
      const [{ loadWritten }, { effectiveConfig }, { stringify }] = await Promise.all([
        import('../config/load.ts'),
        import('../config/effective-config.ts'),
        import('yaml'),
      ]);
      const effective = effectiveConfig(await loadWritten(file, process.env));
      print(
        format === 'json'
          ? JSON.stringify(effective, null, 2)
          : stringify(effective, { lineWidth: 110 }).trimEnd(),
      );
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
