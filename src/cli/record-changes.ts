import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import type { z } from 'zod';
import { issuesOf, shownIssue } from '../common/config-error.ts';
import { noSuchName } from '../common/suggestion.ts';
import { namesModel } from '../gateway/accounts/model-lists.ts';
import { CommandMistake, UsageMistake } from './command.ts';

/** Limits that a command takes as JSON. Throws UsageMistake, which names the limit and what was wrong. */
export function parsedLimits<S extends z.ZodType>(json: string, schema: S): z.output<S> {
  let given: unknown;
  try {
    given = JSON.parse(json);
  } catch {
    throw new UsageMistake(`limits must be JSON, such as '{"requests_per_minute": 5}'; not '${json}'`);
  }
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data;
  const [issue] = issuesOf(checked.error, schema, given);
  throw new UsageMistake(`limits: ${shownIssue(issue!)}`);
}

/** A list of models that a command takes, divided by commas; `null`, which stands for all, for `-`. */
export const modelsOf = (text: string): readonly string[] | null =>
  text === '-' ? null : text.split(',').flatMap(name => name.trim() || []);

/** Throws CommandMistake for a name that none of the models has. */
export function checkModels(
  { models: known }: { readonly models: readonly string[] },
  models: readonly string[] | null,
): void {
  const unknown = models?.find(name => !known.some(id => namesModel([name], id)));
  if (unknown !== undefined) throw new CommandMistake(noSuchName('model', unknown, known));
}

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
