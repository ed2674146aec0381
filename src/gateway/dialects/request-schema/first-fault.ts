import { z } from 'zod';
import { fieldPath, shown, valueAt } from '../../../common/field-path.ts';
import { isObject } from '../../../common/json-object.ts';
import { invalidField, refusal } from '../../exchange/errors.ts';

/** Parses `body`. Throws `invalid_request` for the first fault, with the field, what is accepted and what was sent. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  const value = valueAt(body, path);
  // Nothing is added to a whole sentence.
  const problem = value === undefined || message.endsWith('.') ? message : `${message}, not ${shown(value)}`;
  throw path.length === 0
    ? refusal('invalid_request', { message: problem })
    : invalidField(fieldPath(path), problem);
}

/** Parses common forms of fields without their schemas, which take 400 bytes of garbage each; undefined for any other. */
export type PlainFields = Readonly<Record<string, (given: unknown, body: Fields) => unknown>>;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Creates a parser that does as `parseBody`, but looks only at the fields that a body has, a few of forty: absent ones would take 2,000 bytes of
 * garbage. A body with a fault, or with a field of `together`, which is checked with others, goes through the whole schema.
 */
export function bodyParser<T>(
  schema: z.ZodObject & z.ZodType<T>,
  together: readonly string[],
  plain: PlainFields = {},
): (body: Fields) => T {
  const fields = new Map<string, z.ZodType>(Object.entries(schema.shape));
  const required = [...fields.keys()].filter(name => !fields.get(name)!.safeParse(undefined).success);
  return body => {
    const found: Record<string, unknown> = {};
    for (const name in body) {
      const field = fields.get(name);
      if (!field) continue;
      const common = plain[name]?.(body[name], body);
      if (common !== undefined) {
        found[name] = common;
        continue;
      }
      const parsed = together.includes(name) ? undefined : field.safeParse(body[name]);
      if (!parsed?.success) return parseBody(schema, body);
      found[name] = parsed.data;
    }
    return required.every(name => name in found) ? (found as T) : parseBody(schema, body);
  };
}

/** Reports a fault from within a transform: `return fault(issues, 'must …')`. */
export function fault(issues: z.RefinementCtx, message: string, ...path: PropertyKey[]): never {
  issues.addIssue({ code: 'custom', path, message });
  return z.NEVER;
}

/**
 * Parses a value within another one. Returns `undefined` after a fault. Reports only the first, with its path: a zod union would not say
 * which part is at fault, and hundreds of thousands of issues are too many for zod.
 */
export function parsedBy<T>(
  schema: z.ZodType<T>,
  given: unknown,
  issues: z.RefinementCtx,
  path: readonly PropertyKey[] = [],
  messageOf?: (issue: z.core.$ZodIssue) => string,
): T | undefined {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  reportFirst(parsed.error, issues, path, messageOf);
  return undefined;
}

/** Parses each of `given` until one has a fault; a client may send hundreds of thousands. `plainOf` parses the common form without the schema. */
export function eachParsedBy<T>(
  schema: z.ZodType<T>,
  given: readonly unknown[],
  issues: z.RefinementCtx,
  path: readonly PropertyKey[] = [],
  plainOf?: (element: unknown) => T | undefined,
): T[] | undefined {
  const each: T[] = [];
  for (let index = 0; index < given.length; index++) {
    const plain = plainOf?.(given[index]);
    if (plain !== undefined) {
      each.push(plain);
      continue;
    }
    const parsed = schema.safeParse(given[index]);
    if (!parsed.success) {
      reportFirst(parsed.error, issues, [...path, index]);
      return undefined;
    }
    each.push(parsed.data);
  }
  return each;
}

function reportFirst(
  { issues: [issue] }: z.ZodError,
  issues: z.RefinementCtx,
  path: readonly PropertyKey[],
  messageOf: (issue: z.core.$ZodIssue) => string = ({ message }) => message,
): void {
  if (issue) fault(issues, messageOf(issue), ...path, ...issue.path);
}

/** An object of one of `kinds` by its `type`, or else a fault: `notObject`, or `notKind` at the type. */
export const byType = <T>(
  kinds: Readonly<Record<string, z.ZodType<T>>>,
  notKind: string,
  notObject = 'must be an object {type, …}',
) =>
  z.unknown().transform((given, issues): T => {
    if (!isObject(given)) return fault(issues, notObject);
    const { type } = given;
    const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
    return kind ? (parsedBy(kind, given, issues) as T) : fault(issues, notKind, 'type');
  });

/**
 * An array, parsed until an element has a fault; `z.array` would keep an issue of every element, gigabytes for a body of a few kilobytes.
 * With the message `empty` it must not be empty. `plainOf` as in `eachParsedBy`.
 */
export const arrayOf = <T>(
  element: z.ZodType<T>,
  notArray: string,
  empty?: string,
  plainOf?: (element: unknown) => T | undefined,
) =>
  z.custom<unknown[]>(Array.isArray, notArray).transform((given, issues): T[] => {
    if (empty !== undefined && given.length === 0) return fault(issues, empty);
    return eachParsedBy(element, given, issues, [], plainOf) ?? z.NEVER;
  });
