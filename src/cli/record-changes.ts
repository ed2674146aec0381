import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import type { CommandSettings } from '../config/load-commands.ts';
import type * as checks from '../records/account-rules.ts';
import { AlreadyThere, NameTaken, NotThere, RecordRefused } from '../records/record-errors.ts';
import { CommandMistake, UsageMistake } from './command.ts';

/** Limits that a command takes as JSON; the store's rules say which are accepted. Throws UsageMistake. */
export function parsedJson(json: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(json) as Readonly<Record<string, unknown>>;
  } catch {
    throw new UsageMistake(`limits must be JSON, such as '{"requests_per_minute": 5}'; not '${json}'`);
  }
}

/** What of a configuration the rules of accounts and keys ask for. */
export const rulesOf = (settings: CommandSettings): checks.AccountRules => ({ settings, catalog: settings });

/** Carries out a change, with the checks of accounts and keys. What they or the store refuse of it is a mistake of the command. */
export async function refusing<T>(change: (rules: typeof checks) => Promise<T>): Promise<T> {
  try {
    return await change(await import('../records/account-rules.ts'));
  } catch (thrown) {
    if (thrown instanceof RecordRefused && thrown.field !== undefined) throw new UsageMistake(thrown.message);
    const isRefusal = [AlreadyThere, NotThere, RecordRefused, NameTaken].some(kind => thrown instanceof kind);
    throw isRefusal ? new CommandMistake((thrown as Error).message) : thrown;
  }
}

/** A list of models that a command takes, divided by commas; `null`, which stands for all, for `-`. */
export const modelsOf = (text: string): readonly string[] | null =>
  text === '-' ? null : text.split(',').flatMap(name => name.trim() || []);

export const shownModels = (models: readonly string[] | null): string =>
  models === null ? 'all models' : `the models ${models.join(', ') || '(none)'}`;

export interface WasOption {
  readonly was?: string;
}

/** Adds `--was` to a command that changes one value of a record. */
export const withWas = (command: Command): Command =>
  command.option(
    '--was <VALUE>',
    'change it only if it is this now, so that the change of another is not lost',
  );

/** Sets `name` of a record to `value`. In the transaction of the change it throws CommandMistake if `was` is given and not there. */
export const replacing =
  <N extends string, V>(name: N, value: V, was: V | undefined) =>
  (now: Readonly<Record<N, V>>): Record<N, V> => {
    if (was !== undefined && !isDeepStrictEqual(now[name], was))
      throw new CommandMistake(
        `nothing was changed: it is ${JSON.stringify(now[name])} now, and not what --was says`,
      );
    return { [name]: value } as Record<N, V>;
  };
