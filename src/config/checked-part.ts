import type { z } from 'zod';
import { type ConfigIssue, issuesOf } from '../diagnostics/config-error.ts';
import { fieldPath } from '../diagnostics/field-path.ts';
import { type Environment, expandVariables } from './environment.ts';

/** A part of a configuration with its variables expanded, and everything that is wrong with it. */
export interface ExpandedPart {
  readonly value: unknown;
  readonly issues: ConfigIssue[];
  /** Adds issues, unless they are of a field that is empty because its variable is not set: that is one mistake, not two. */
  report(found: Iterable<ConfigIssue>): void;
  /** What `schema` makes of the part; undefined if the schema finds anything wrong, which is reported. */
  check<S extends z.ZodType>(schema: S): z.output<S> | undefined;
}

/** Expands the variables of what stands at `path` of a configuration. */
export function expandPart(
  written: unknown,
  environment: Environment,
  path: readonly PropertyKey[] = [],
): ExpandedPart {
  const issues: ConfigIssue[] = [];
  const value = expandVariables(written, environment, issues, path);
  const unset = new Set(issues.map(issue => fieldPath(issue.path)));
  const report = (found: Iterable<ConfigIssue>) => {
    for (const issue of found) if (!unset.has(fieldPath(issue.path))) issues.push(issue);
  };
  return {
    value,
    issues,
    report,
    check(schema) {
      const { error, data } = schema.safeParse(value);
      if (error)
        report(issuesOf(error, schema, value).map(issue => ({ ...issue, path: [...path, ...issue.path] })));
      return data;
    },
  };
}
