import type { z } from 'zod';
import { type ConfigError, type ConfigIssue, issuesOf } from '../common/config-error.ts';
import { fieldPath, shown, valueAt } from '../common/field-path.ts';
import { type Environment, type ExpandedValue, type Expansion, expandVariables } from './environment.ts';
import type { WrittenConfig } from './read-config.ts';

/** A part of a configuration with its variables expanded, and everything that is wrong with it. */
export interface ExpandedPart {
  readonly value: unknown;
  readonly issues: ConfigIssue[];
  /** The values that came from the environment or from files, in the order of the configuration. */
  readonly expanded: readonly ExpandedValue[];
  /** Adds issues, unless they are of a field that is empty because its variable is not set: that is one mistake, not two. */
  report(found: Iterable<ConfigIssue>): void;
  /** What `schema` makes of the part; undefined if the schema finds anything wrong, which is reported. */
  check<S extends z.ZodType>(schema: S): z.output<S> | undefined;
  /** One error for all mistakes, without the content of files. */
  readonly error: (issues: readonly ConfigIssue[], options?: ErrorOptions) => ConfigError;
}

/** Expands the variables of `written`, or of the part `value` that stands at `path` of it. */
export function expandPart(
  written: WrittenConfig,
  environment: Environment,
  value: unknown = written.value,
  path: readonly PropertyKey[] = [],
): ExpandedPart {
  const found: Expansion = { issues: [], values: [] };
  const { issues, values } = found;
  const expanded = expandVariables(value, { environment, directory: written.directory }, found, path);
  const unset = new Set(issues.map(issue => fieldPath(issue.path)));
  const report = (more: Iterable<ConfigIssue>) => {
    for (const issue of more) if (!unset.has(fieldPath(issue.path))) issues.push(issue);
  };
  const secrets = values
    .filter(({ from }) => from === 'file')
    .map(secret => ({ ...secret, whole: valueAt(expanded, secret.path.slice(path.length)) }));
  return {
    value: expanded,
    issues,
    expanded: values,
    report,
    check(schema) {
      const { error, data } = schema.safeParse(expanded);
      if (error)
        report(
          issuesOf(error, schema, expanded).map(issue => ({ ...issue, path: [...path, ...issue.path] })),
        );
      return data;
    },
    error: (all, options) =>
      written.error(
        all.map(issue => withoutSecrets(issue, secrets)),
        options,
      ),
  };
}

/** Shorter texts would be found in every message, and are only replaced where they are shown as the value itself. */
const min_secret_characters = 8;

function withoutSecrets(
  issue: ConfigIssue,
  secrets: readonly (ExpandedValue & { readonly whole: unknown })[],
): ConfigIssue {
  const place = fieldPath(issue.path);
  const message = secrets.reduce((text, { path, content, whole }) => {
    const unshown = fieldPath(path) === place ? text.replaceAll(shown(whole), 'what its file has') : text;
    return content.length < min_secret_characters ? unshown : unshown.replaceAll(content, '[secret]');
  }, issue.message);
  return { ...issue, message };
}
