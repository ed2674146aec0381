import type { z } from 'zod';

/**
 * What `schema` makes of a value within another one. Its faults are told there with their whole path, and `undefined` is returned; a union
 * would hide which part is at fault.
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
  for (const issue of parsed.error.issues)
    issues.addIssue({ code: 'custom', path: [...path, ...issue.path], message: words(issue) });
  return undefined;
}
