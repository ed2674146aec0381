import type { z } from 'zod';
import { type ConfigIssue, issuesOf } from '../diagnostics/config-error.ts';
import { fieldPath } from '../diagnostics/field-path.ts';
import { type Environment, expandVariables } from './environment.ts';

/** A part of a configuration with its variables expanded, and what `schema` makes of it or finds wrong with it. */
export interface CheckedPart<T> {
  readonly value: unknown;
  /** Undefined if anything is wrong with the part. */
  readonly data: T | undefined;
  readonly issues: ConfigIssue[];
  /** Adds issues, unless they are of a field that is empty because its variable is not set: that is one mistake, not two. */
  report(found: Iterable<ConfigIssue>): void;
}

/** Expands and checks what stands at `path` of a configuration. */
export function checkPart<S extends z.ZodType>(
  schema: S,
  written: unknown,
  environment: Environment,
  path: readonly PropertyKey[] = [],
): CheckedPart<z.output<S>> {
  const issues: ConfigIssue[] = [];
  const value = expandVariables(written, environment, issues, path);
  const unset = new Set(issues.map(issue => fieldPath(issue.path)));
  const report = (found: Iterable<ConfigIssue>) => {
    for (const issue of found) if (!unset.has(fieldPath(issue.path))) issues.push(issue);
  };
  const { error, data } = schema.safeParse(value);
  if (error)
    report(issuesOf(error, schema, value).map(issue => ({ ...issue, path: [...path, ...issue.path] })));
  return { value, data, issues, report };
}
