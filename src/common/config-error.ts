import type { z } from 'zod';
import { acceptedAt } from './accepted-names.ts';
import { fieldPath, shown, valueAt } from './field-path.ts';
import { isPromise } from './refused-promise.ts';
import { nearestName, suggested } from './suggestion.ts';

/** One mistake in a configuration. */
export interface ConfigIssue {
  /** Names and indexes that lead to the value. */
  readonly path: readonly PropertyKey[];
  /** What is wrong, and what is accepted. */
  readonly message: string;
  /** Line of the configuration file, from 1. */
  readonly line?: number | undefined;
}

/** All mistakes in a configuration. */
export class ConfigError extends Error {
  /** Always `ConfigError`. */
  override readonly name = 'ConfigError';
  /** Every mistake. */
  readonly issues: readonly ConfigIssue[];

  constructor(source: string, issues: readonly ConfigIssue[], options?: ErrorOptions) {
    const lines = issues.map(issue => `  ${shownIssue(issue)}`);
    super(
      `${source}: ${issues.length} mistake${issues.length === 1 ? '' : 's'}\n${lines.join('\n')}`,
      options,
    );
    this.issues = issues;
  }
}

/** `models[0].pricing.prompt (line 12): must be …` */
export function shownIssue({ path, message, line }: ConfigIssue): string {
  return `${fieldPath(path) || '(top level)'}${line === undefined ? '' : ` (line ${line})`}: ${message}`;
}

/** The mistakes of a ConfigError, of this copy of the package or another, as they are shown; undefined for any other error. */
export function mistakesIn(thrown: unknown): string[] | undefined {
  const { issues } = Object(thrown) as { issues?: unknown };
  return Array.isArray(issues) ? issues.map(shownIssue) : undefined;
}

/** `value` as `schema` parses it. Throws a ConfigError of `source` with every mistake. */
export function checkedBy<Schema extends z.ZodType>(
  source: string,
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const parsed = parsedAtOnce(source, schema, value);
  if (parsed.success) return parsed.data;
  throw new ConfigError(source, issuesOf(parsed.error, schema, value));
}

function parsedAtOnce<Schema extends z.ZodType>(source: string, schema: Schema, value: unknown) {
  try {
    return schema.safeParse(value);
  } catch (cause) {
    // Of any copy of zod.
    if (Object(cause).constructor?.name !== '$ZodAsyncError') throw cause;
    const message = 'its schema is asynchronous; options are checked at once';
    throw new ConfigError(source, [{ path: [], message }], { cause });
  }
}

const promised = 'must not be a promise: create returns at once, and the methods that it returns may wait';

/** Throws a ConfigError if what a plugin's `create` has returned is a promise, which `noPromise` says, or not as `schema` says. */
export function checkCreated(
  source: string,
  schema: z.ZodType,
  created: unknown,
  noPromise: string = promised,
): void {
  if (!isPromise(created)) return void checkedBy(source, schema, created);
  throw new ConfigError(source, [{ path: [], message: noPromise }]);
}

/** Makes the plugin that stands at number `at` of its list. Throws a ConfigError that names the place if that fails. */
export type MakePlugin = <T>(at: number, make: () => T) => T;

/** What `make` returns. What it throws becomes one issue at `path` of the error that `mistake` returns. */
export function madeAt<T>(
  mistake: (issues: readonly ConfigIssue[], options: ErrorOptions) => ConfigError,
  path: readonly PropertyKey[],
  make: () => T,
): T {
  try {
    return make();
  } catch (cause) {
    const isMistake = Object(cause).name === 'ConfigError';
    const text = String(cause instanceof Error || isMistake ? (cause as Error).message : cause);
    const [first = '', ...lines] = text.split('\n');
    const message = isMistake
      ? `${first.replace(/: \d+ mistakes?$/, '')}: ${lines.map(line => line.trim().replace('(top level): ', '')).join('; ')}`
      : // A stage's says already whose it is.
        first.replace(/^(?!create of )/, 'cannot be created: ');
    throw mistake([{ path, message }], { cause });
  }
}

/** Issues of `error`, one for each unknown key, with the accepted names and the closest one. */
export function issuesOf(error: z.ZodError, schema: z.ZodType, value: unknown): ConfigIssue[] {
  return error.issues.flatMap((issue): ConfigIssue[] => {
    const { path } = issue;
    if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined'))
      return [{ path, message: `is required: ${typeNames[issue.expected] ?? issue.expected}` }];
    if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input: expected '))
      return [{ path, message: wrongType(issue.expected, valueAt(value, path)) }];
    if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid option'))
      return [{ path, message: notOneOf(valueAt(value, path), issue.values.map(String)) }];
    if (issue.code === 'too_small' && issue.message.startsWith('Too small'))
      return [
        { path, message: sizeMessage(issue, issue.minimum, ['above', 'at least'], valueAt(value, path)) },
      ];
    if (issue.code === 'too_big' && issue.message.startsWith('Too big'))
      return [
        { path, message: sizeMessage(issue, issue.maximum, ['below', 'at most'], valueAt(value, path)) },
      ];
    if (issue.code === 'invalid_format' && issue.message.startsWith('Invalid '))
      return [{ path, message: formats[issue.format] ?? issue.message }];
    if (issue.code === 'invalid_key') return [{ path, message: issue.issues[0]?.message ?? issue.message }];
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
    const names = acceptedAt(schema, path, value);
    return issue.keys.map(key => ({ path: [...path, key], message: unknownName(key, names) }));
  });
}

/** In place of zod's words for texts of the wrong form; without the text, which may be a secret. */
const formats: Readonly<Record<string, string>> = {
  date: 'must be a date such as 2026-01-31',
  datetime: 'must be a time such as 2026-01-31T12:00:00Z',
  url: 'must be an address such as https://host/v1',
};

/** What is counted of a value that is too large or too small. */
const counted: Readonly<Record<string, string>> = {
  string: ' characters',
  array: ' elements',
  set: ' elements',
  map: ' entries',
};

/** `must be at least 1, not 0`; `must have at most 8 elements, not 9`. */
function sizeMessage(
  { origin, inclusive }: { readonly origin: string; readonly inclusive?: boolean | undefined },
  limit: number | bigint,
  [beyond, within]: readonly [string, string],
  given: unknown,
): string {
  const bound = `${inclusive === false ? beyond : within} ${limit}`;
  const unit = counted[origin];
  if (unit === undefined) return `must be ${bound}, not ${shown(given)}`;
  if (limit === 1 && within === 'at least') return 'must not be empty';
  const { length } = Object(given) as { length?: unknown };
  return `must have ${bound}${unit}${length === undefined ? '' : `, not ${length}`}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

/** `must be a string, not 3`. A text in the place of something else may be a secret, and is shown only where a number or truth value belongs. */
function wrongType(expected: string, given: unknown): string {
  const isSafe = typeof given !== 'string' || ['number', 'int', 'boolean'].includes(expected);
  return `must be ${typeNames[expected] ?? expected}, not ${isSafe ? shown(given) : 'a string'}`;
}

/** Message that lists what is accepted instead of `given`, with the closest name. */
export function notOneOf(given: unknown, accepted: readonly string[]): string {
  const list = `must be one of: ${accepted.join(', ')}`;
  if (typeof given !== 'string') return list;
  const nearest = nearestName(given, accepted);
  return `${list}; not ${shown(given)}${nearest === undefined ? '' : `; did you mean '${nearest}'?`}`;
}

const unknownName = (given: string, accepted: readonly string[]): string =>
  accepted.length === 0
    ? 'unknown name'
    : `unknown name${suggested(given, accepted, `accepted here: ${accepted.join(', ')}`)}`;
