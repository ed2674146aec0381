import { writeFileSync } from 'node:fs';
import { mistakesIn } from '../../common/config-error.ts';
import { CommandMistake, type Voice } from '../command.ts';
import { variablesIn } from './expression.ts';
import type { Imported } from './imported.ts';
import { checkImported } from './imported-config.ts';

/** Options of the command line. */
export interface ImportOptions {
  readonly output?: string;
  readonly report?: string;
  readonly models?: readonly string[];
  readonly force?: boolean;
}

/**
 * Writes a configuration and what did not come over into it. Throws a CommandMistake for a file that exists, before anything is written,
 * and, when all is written, for a configuration that has mistakes.
 */
export async function writeImport(
  { config, findings }: Imported,
  source: string,
  options: ImportOptions,
  voice: Voice,
): Promise<void> {
  const { value } = config;
  const variables = variablesIn(JSON.stringify(value));
  const head = [
    `Made by sluice import from ${source}. Correct what stands below a comment, then: sluice check, sluice doctor.`,
    ...(variables.length > 0 ? [`Variables: ${variables.join(', ')}`] : []),
  ].join('\n');
  const text = config.textBelow(head);
  const [only, ...others] = findings;
  const report =
    others.length === 0
      ? only!.text
      : findings.map(({ file, text: list }) => `${file}\n${list}`).join('\n\n');
  const mistakes = await mistakesOf(value);
  if (options.output !== undefined) writeOwn(options.output, text, options);
  else voice.print(text.trimEnd());
  if (options.report !== undefined) writeOwn(options.report, `${report}\n`, options);
  else voice.remark(report);
  if (mistakes.length > 0)
    throw new CommandMistake(
      `the configuration has to be corrected before it can be served:\n${mistakes.map(line => `  ${line}`).join('\n')}`,
    );
}

async function mistakesOf(value: Parameters<typeof checkImported>[0]): Promise<readonly string[]> {
  try {
    await checkImported(value);
    return [];
  } catch (thrown) {
    const mistakes = mistakesIn(thrown);
    if (mistakes) return mistakes;
    throw thrown;
  }
}

/** For this user alone: the file may have keys that the other gateway's had. */
function writeOwn(file: string, text: string, { force = false }: ImportOptions): void {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx', mode: 0o600 });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    throw new CommandMistake(
      code === 'EEXIST'
        ? `${file} exists already; --force replaces it, or name another file`
        : `${file} cannot be written: ${code}`,
    );
  }
}
