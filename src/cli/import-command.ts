import { Command } from 'commander';
import type { Voice } from './command.ts';
import type { FurtherFiles } from './import/litellm/import-litellm.ts';
import type { ImportOptions } from './import/write-import.ts';

/** `sluice import`, with a command for each gateway that is left. */
export const importCommand = (voice: Voice): Command =>
  new Command('import')
    .description("write a configuration from another gateway's, and list what has no counterpart")
    .addCommand(
      common(new Command('litellm'))
        .description("write a configuration from LiteLLM's config.yaml, and list what has no counterpart")
        .argument('<FILE>', 'its configuration')
        .option('--prices <FILE>', 'its list of prices and bounds: model_prices_and_context_window.json')
        .option('--keys <FILE>', 'an export of its keys, in JSON: see docs/how-to/from-litellm.md')
        .action(async (file: string, options: ImportOptions & FurtherFiles) => {
          const [{ importLiteLlm }, { writeImport }] = await Promise.all([
            import('./import/litellm/import-litellm.ts'),
            import('./import/write-import.ts'),
          ]);
          const imported = importLiteLlm(file, options.models ?? [], options);
          await writeImport(imported, `LiteLLM's ${file}`, options, voice);
        }),
    )
    .addCommand(
      common(new Command('portkey'))
        .description('write a configuration from a config of Portkey, and list what has no counterpart')
        .argument('<FILE>', 'the config; clients ask for its model by the name of the file')
        .action(async (file: string, options: ImportOptions) => {
          const [{ importPortkey }, { writeImport }] = await Promise.all([
            import('./import/portkey/import-portkey.ts'),
            import('./import/write-import.ts'),
          ]);
          await writeImport(importPortkey(file, options.models ?? []), `Portkey's ${file}`, options, voice);
        }),
    );

const common = (command: Command): Command =>
  command
    .option('-o, --output <FILE>', 'where the configuration goes; standard output without it')
    .option('--report <FILE>', 'where the list of what did not come over goes; standard error without it')
    .option('--models <A,B>', 'models that clients use, for wildcards', namesOf)
    .option('--force', 'replace files that exist');

const namesOf = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map(name => name.trim())
      .filter(name => name !== ''),
  ),
];
