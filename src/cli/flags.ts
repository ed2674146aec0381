import { type ParseArgsConfig, type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { suggested } from '../diagnostics/suggestion.ts';

/** A command line that cannot be understood. The message is for its author. */
export class CommandMistake extends Error {
  override readonly name = 'CommandMistake';
}

/** The flags and positionals of `command`, which begins with `sluice`. Throws a CommandMistake that names what is accepted. */
export function flagsOf<const O extends ParseArgsOptionsConfig>(
  command: string,
  args: readonly string[],
  options: O,
) {
  const config = { args: [...args], allowPositionals: true, options } as const satisfies ParseArgsConfig;
  try {
    return parseArgs(config);
  } catch (thrown) {
    throw new CommandMistake(`${command}: ${flagMistake(thrown as Error, Object.keys(options))}`);
  }
}

/** What follows the first sentence of Node's message is advice about positional arguments. */
function flagMistake({ message }: Error, options: readonly string[]): string {
  const known = options.map(name => `--${name}`);
  const [why] = message.split('. ');
  const list = `accepted here: ${known.join(', ')}`;
  return `${why}${suggested(/'(-[^']*)'/.exec(message)?.[1] ?? '', known, list)}`;
}

/** Says that there is no command `given`, which one was probably meant, and what there is. */
export function noSuchCommand(given: string, known: readonly string[], help: string): CommandMistake {
  return new CommandMistake(
    `there is no command '${given}'${suggested(given, known, `there are: ${known.join(', ')}`)}\n\n${help}`,
  );
}
