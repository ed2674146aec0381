import { z } from 'zod';
import { fieldPath, shown, valueAt } from '../../diagnostics/field-path.ts';
import { type GatewayError, invalidField, refusal } from '../../errors.ts';

/**
 * What `schema` makes of a value within another one, or `undefined` and its first fault, told there with its whole path; a union would hide
 * which part is at fault. Only the first is told to the client, and hundreds of thousands would be too many for zod.
 */
export function parsedBy<T>(
  schema: z.ZodType<T>,
  given: unknown,
  issues: z.RefinementCtx,
  path: readonly PropertyKey[] = [],
  words: (issue: z.core.$ZodIssue) => string = issue => issue.message,
): T | undefined {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue) issues.addIssue({ code: 'custom', path: [...path, ...issue.path], message: words(issue) });
  return undefined;
}

/** The same for each of `given`, up to the first that has a fault: a client may send hundreds of thousands. */
export function eachParsedBy<T>(
  schema: z.ZodType<T>,
  given: readonly unknown[],
  issues: z.RefinementCtx,
  path: readonly PropertyKey[] = [],
): T[] | undefined {
  const known = issues.issues.length;
  const parsed: T[] = [];
  for (const [index, one] of given.entries()) {
    parsed.push(parsedBy(schema, one, issues, [...path, index]) as T);
    if (issues.issues.length > known) return undefined;
  }
  return parsed;
}

/**
 * An array up to its first element with a fault; `z.array` goes on and keeps an issue of every element, gigabytes for a body of a few
 * kilobytes. With the message `empty` it must have an element.
 */
export const arrayOf = <T>(element: z.ZodType<T>, notArray: string, empty?: string) =>
  z.custom<unknown[]>(Array.isArray, notArray).transform((given, issues): T[] => {
    if (empty !== undefined && given.length === 0) {
      issues.addIssue({ code: 'custom', message: empty });
      return z.NEVER;
    }
    return eachParsedBy(element, given, issues) ?? z.NEVER;
  });

/** The first fault that a schema found, as a refusal: field, what is accepted, what was sent. A whole sentence has nothing added to it. */
export function refusalOf(error: z.ZodError, body: unknown): GatewayError {
  const issue = error.issues[0];
  if (!issue) return refusal('invalid_request');
  const path = fieldPath(issue.path);
  const value = valueAt(body, issue.path);
  const { message } = issue;
  const problem = value === undefined || message.endsWith('.') ? message : `${message}, not ${shown(value)}`;
  return path === '' ? refusal('invalid_request', { message: problem }) : invalidField(path, problem);
}
