import { Command, Option } from 'commander';
import { UsageMistake, type Voice } from './command.ts';
import { adapterNames, isVariable } from './init/option-values.ts';
import type { Terminal } from './init/questions.ts';
import type { InitOptions } from './init/write-config.ts';

/** `sluice init`. */
export const initCommand = (
  voice: Voice,
  terminal: Terminal = { input: process.stdin, output: process.stderr },
): Command =>
  new Command('init')
    .description('write a first configuration, after asking a server for its models')
    .argument('[FILE]', 'where to', 'sluice.yaml')
    .addOption(new Option('--adapter <NAME>', 'what the models run on').choices(adapterNames))
    .option('--url <URL>', "where its API is; without it the adapter's usual address")
    .addOption(
      new Option('--key-env <NAME>', 'the environment variable with its key')
        .argParser(variableOf)
        .conflicts('keyFile'),
    )
    .option('--key-file <PATH>', 'a file with its key, seen from the folder of FILE')
    .option('--models <A,B>', 'models, by the names that the server has for them', namesOf)
    .option('-y, --yes', 'ask nothing: take what the options say, and all models of a server with a few')
    .option('--offline', 'do not ask the server; its models have to be completed then')
    .option('--force', 'replace the file if it exists')
    .addHelpText(
      'after',
      `
Asks on a terminal for what the options do not say. In scripts --adapter and --yes are enough, with --models
for a server that has many. Context lengths, prices and dates that the server reports are written down; the
rest is marked by a comment. The key itself is never written into the file. Nothing is written if the server
cannot be asked. Prints the commands that lead to the first streamed reply.`,
    )
    .action(async (file: string, options: InitOptions) => {
      const { writeFirstConfig } = await import('./init/write-config.ts');
      await writeFirstConfig(file, options, voice, terminal);
    });

function variableOf(text: string): string {
  // Without the text itself: it may be the key.
  if (isVariable(text)) return text;
  throw new UsageMistake('--key-env must be the name of an environment variable, not the key');
}

function namesOf(text: string): readonly string[] {
  const names = [...new Set(text.split(',').map(name => name.trim()))].filter(name => name !== '');
  if (names.length > 0) return names;
  throw new UsageMistake('--models must be names with commas between them');
}
