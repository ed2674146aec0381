import { userInfo } from 'node:os';
import type { ParseArgsOptionsConfig } from 'node:util';
import { type CommandSettings, loadCommandSettings } from '../config/load-commands.ts';
import { StoreUnavailable } from '../stores/records/database.ts';
import { openRecords, type RecordsStore } from '../stores/records/records-store.ts';
import { placeOf } from '../stores/records/start-records.ts';
import { CommandMistake, flagsOf } from './flags.ts';

/** Where a command speaks: what was asked for, and what is said about it. */
export interface Voice {
  print(text: string): void;
  remark(text: string): void;
}

/** What a command works with. */
export interface CommandContext {
  readonly store: RecordsStore;
  readonly settings: CommandSettings;
  readonly operator: { readonly actor: string; readonly at_ms: number };
  readonly voice: Voice;
}

/** The flags and positionals of a command of the records, `--config` among them. Throws a CommandMistake that names what is accepted. */
export const parsed = <const O extends ParseArgsOptionsConfig>(
  command: string,
  args: readonly string[],
  options: O,
) => flagsOf(`sluice ${command}`, args, { ...options, config: { type: 'string', short: 'c' } });

export const asksForHelp = (args: readonly string[]): boolean =>
  args.includes('--help') || args.includes('-h');

/** Opens the store of the configuration, does the work, and closes it. */
export async function withContext(
  command: string,
  config: string | undefined,
  voice: Voice,
  work: (desk: CommandContext) => Promise<void>,
): Promise<void> {
  if (config === undefined)
    throw new CommandMistake(
      `sluice ${command}: --config FILE is missing; it says where the records are kept`,
    );
  const settings = loadCommandSettings(config);
  if (settings.target.kind === 'memory') {
    throw new CommandMistake(
      `sluice ${command}: ${config} keeps records in memory, where only the running process sees them. Set stores: { records: sqlite:./sluice.db } or postgres://USER:PASSWORD@HOST/DATABASE`,
    );
  }
  const at_ms = Date.now();
  let store: RecordsStore | undefined;
  try {
    store = await openRecords(settings.target);
    await store.migrate(at_ms);
    await work({ store, settings, voice, operator: { actor: `cli:${userName()}`, at_ms } });
  } catch (thrown) {
    if (!(thrown instanceof StoreUnavailable)) throw thrown;
    throw new CommandMistake(`${placeOf(settings.target)} cannot be used: ${thrown.message}`);
  } finally {
    await store?.close();
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry, as in many containers.
    return `uid ${process.getuid?.()}`;
  }
}
