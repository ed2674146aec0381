import { userInfo } from 'node:os';
import { Command } from 'commander';
import { type CommandSettings, loadCommandSettings } from '../config/load-commands.ts';
import { StoreUnavailable } from '../stores/records/database.ts';
import { openRecords, type RecordsStore } from '../stores/records/records-store.ts';
import { placeOf } from '../stores/records/start-records.ts';
import { CommandMistake } from './mistake.ts';

/** Where a command writes: its result, and remarks about it. */
export interface Voice {
  print(text: string): void;
  remark(text: string): void;
}

/** What a command works with. */
export interface CommandContext {
  readonly store: RecordsStore;
  readonly settings: CommandSettings;
  readonly operator: { readonly actor: string; readonly at_ms: number };
}

/** The options of every command of the records store. */
export interface RecordsOptions {
  readonly config: string;
}

/** A command of the records store, such as `create NAME`. */
export function recordsCommand(usage: string): Command {
  const [name, ...parameters] = usage.split(' ');
  const command = withConfig(new Command(name));
  for (const parameter of parameters) command.argument(parameter);
  return command;
}

export const withConfig = (command: Command): Command =>
  command.requiredOption('-c, --config <FILE>', 'the configuration');

/** Opens the records store of a configuration, does the work, and closes it. */
export async function withStore(
  { config }: RecordsOptions,
  work: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const settings = loadCommandSettings(config);
  if (settings.target.kind === 'memory') {
    throw new CommandMistake(
      `${config} keeps records in memory, where only the running process sees them. Set stores: { records: sqlite:./sluice.db } or postgres://USER:PASSWORD@HOST/DATABASE`,
    );
  }
  const at_ms = Date.now();
  let store: RecordsStore | undefined;
  try {
    store = await openRecords(settings.target);
    await store.migrate(at_ms);
    await work({ store, settings, operator: { actor: `cli:${userName()}`, at_ms } });
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
