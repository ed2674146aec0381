import type { z } from 'zod';

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
