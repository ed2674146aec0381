import { Command, Option } from 'commander';
import { type Voice, withConfig } from './command.ts';

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
known to be harmless, as ***. It is to be read, and not to be served: some defaults may not be written out.`,
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
