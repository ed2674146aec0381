import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { isDay } from '../common/calendar-day.ts';
import type { CommandSettings } from '../config/load-commands.ts';
import { StoreUnavailable } from '../records/record-errors.ts';
import type { RecordsStore } from '../records/records-store.ts';

/** A command that was refused or has failed: exit code 1. The message says why; an empty one that the output has said it. */
export class CommandMistake extends Error {
  override readonly name: string = 'CommandMistake';
}

/** A command line that cannot be understood: exit code 2. The message says what is accepted. */
export class UsageMistake extends CommandMistake {
  override readonly name = 'UsageMistake';
}

/** Exit code of a command that has thrown: 2 for a command line that cannot be understood, else 1. */
export const exitCodeOf = (thrown: unknown): 1 | 2 => (thrown instanceof UsageMistake ? 2 : 1);

/** How people call this program: by what has started it. */
export function programName(environment: Readonly<Record<string, string | undefined>>): string {
  if (environment.npm_command === 'exec') return 'npx sluice';
  return environment.npm_lifecycle_event === 'start' ? 'npm --silent start --' : 'sluice';
}

/** Output of a command: its result on standard output, remarks about it on standard error. */
export interface Voice {
  print(text: string): void;
  remark(text: string): void;
}

/** What a command of the records store works with. */
export interface CommandContext extends Voice {
  readonly store: RecordsStore;
  readonly settings: CommandSettings;
  readonly operator: { readonly actor: string; readonly at_ms: number };
}

export const withConfig = (command: Command): Command =>
  command.requiredOption('-c, --config <FILE>', 'the configuration');

/** The day that an option names. Throws a UsageMistake for any other text. */
export function dayIn(flag: string, text: string): string {
  if (isDay(text)) return text;
  throw new UsageMistake(`${flag} must be a day in UTC such as 2026-11-20, not '${text}'`);
}

/**
 * An action that opens the records store of `--config`, does `work` and closes the store. `work` receives the arguments and options of the
 * command after the context.
 */
export const inStore =
  <A extends readonly unknown[]>(
    work: (context: CommandContext, ...given: A) => Promise<void>,
    voice: Voice,
  ) =>
  async (...given: readonly unknown[]): Promise<void> => {
    const { config } = (given.at(-1) as Command).opts<{ config: string }>();
    const [{ loadCommandSettings }, { openPlace }] = await Promise.all([
      import('../config/load-commands.ts'),
      import('../records/define-records-store.ts'),
    ]);
    const settings = await loadCommandSettings(config);
    if (settings.place.isMemory) {
      throw new CommandMistake(
        `${config} keeps records in memory, where only the running process sees them. Set stores: { records: sqlite:./sluice.db } or postgres://USER:PASSWORD@HOST/DATABASE; beside an application that gives createGateway a pool, the database of that pool`,
      );
    }
    const at_ms = Date.now();
    let store: RecordsStore | undefined;
    try {
      store = await openPlace(settings.place);
      await store.migrate(at_ms);
      const operator = { actor: `cli:${userName()}`, at_ms };
      await work({ ...voice, store, settings, operator }, ...(given as unknown as A));
    } catch (thrown) {
      if (!(thrown instanceof StoreUnavailable)) throw thrown;
      throw new CommandMistake(`${settings.place.name} cannot be used: ${thrown.message}`);
    } finally {
      await store?.close();
    }
  };

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry, as in many containers.
    return `uid ${process.getuid?.()}`;
  }
}
