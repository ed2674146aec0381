import type { ConfigIssue } from './issue.ts';

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** A copy of `value` with `${NAME}` in its strings replaced from `environment`; a name that is not set is an issue at its place. */
export function expandVariables(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
  issues: ConfigIssue[],
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof value === 'string') {
    return value.replace(variable, (_, name: string) => {
      const found = environment[name];
      if (found === undefined) issues.push({ path, message: `the environment variable ${name} is not set` });
      return found ?? '';
    });
  }
  if (Array.isArray(value))
    return value.map((element, at) => expandVariables(element, environment, issues, [...path, at]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, element]) => [
      key,
      expandVariables(element, environment, issues, [...path, key]),
    ]),
  );
}
