import type { ConfigIssue } from '../diagnostics/config-error.ts';

/** `$${`, `${NAME}`, `${NAME:-default}`, or a `${` that is none of these. A default has no braces, so that it ends where it seems to. */
const expansion = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}|\$\{/g;

const accepted = '${NAME}, ${NAME:-default} with no braces in the default, and $${ for a literal ${';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A copy of `value` with `${NAME}` in its strings replaced from `environment`. `${NAME:-default}` gives the default when the variable is
 * unset or empty, as in shells; `$${` gives `${`. Issues: a variable that is not set, any other `${`, and a `${` in a name.
 */
export function expandVariables(
  value: unknown,
  environment: Environment,
  issues: ConfigIssue[],
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof value === 'string') return expandText(value, environment, issues, path);
  if (Array.isArray(value))
    return value.map((element, at) => expandVariables(element, environment, issues, [...path, at]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, element]) => {
      const place = [...path, key];
      if (key.includes('${'))
        issues.push({ path: place, message: 'variables are expanded in values, never in names' });
      return [key, expandVariables(element, environment, issues, place)];
    }),
  );
}

function expandText(
  text: string,
  environment: Environment,
  issues: ConfigIssue[],
  path: readonly PropertyKey[],
): string {
  let isRefused = false;
  const expanded = text.replace(expansion, (found, name: string | undefined, fallback?: string) => {
    if (found === '$${') return '${';
    if (name === undefined) {
      isRefused = true;
      return '';
    }
    const given = environment[name];
    if (fallback !== undefined) return given || fallback;
    if (given === undefined) issues.push({ path, message: `the environment variable ${name} is not set` });
    return given ?? '';
  });
  if (isRefused)
    issues.push({ path, message: `has a \${ that expands to nothing; accepted are: ${accepted}` });
  return expanded;
}
