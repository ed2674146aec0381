import type { z } from 'zod';
import { issuesOf, shownIssue } from '../common/config-error.ts';
import { UsageMistake } from './command.ts';

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
