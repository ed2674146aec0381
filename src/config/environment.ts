import { resolve } from 'node:path';
import type { ConfigIssue } from '../common/config-error.ts';
import { FileProblem, readSmallFile } from '../common/small-file.ts';

/**
 * `$${`, `${file:PATH}`, `${NAME}`, `${NAME:-default}`, or a `${` that is none of these. A default and a path have no braces, so that they
 * end where they seem to.
 */
const expansion = /\$\$\{|\$\{file:(?!-)([^{}]*)\}|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}|\$\{/g;

/**
 * A whole value that is a variable in the words of shells and of other gateways: taken as it stands it would be a key that everybody can
 * guess. Bare names in upper case or with `_` only, so that a password may begin with `$`.
 */
const foreign = new RegExp(
  `^(?:${[
    String.raw`\$((?:[A-Z_]|[a-z][a-z0-9]*_)\w*)`,
    String.raw`\$\(([A-Za-z_]\w*)\)|\$env:(\w+)|%([A-Z_][A-Z0-9_]*)%`,
    // Templates, such as Helm's and Jinja's, also with expressions.
    String.raw`\{\{ ?([A-Za-z_]\w*) ?\}\}|(\{\{[^{}]*\}\})`,
    String.raw`(?:process\.)?env[.:]([A-Z_][A-Z0-9_]*)|os\.environ\/(\w+)`,
    String.raw`(?:os\.)?(?:environ|getenv|ENV|env)[[(]["'](\w+)["'][\])]`,
  ].join('|')})$`,
);

const accepted =
  '${NAME}, ${NAME:-default} with no braces in the default, ${file:PATH}, and $${ for a literal ${';

/** Longest file of a secret, in bytes; a chain of certificates is a few thousand. */
const max_file_bytes = 64 * 1024;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the values of variables and files come from. */
export interface ValueSources {
  readonly environment: Environment;
  /** Where relative paths of files begin. */
  readonly directory: string;
}

/** A value of the configuration that a variable or a file is in. */
export interface ExpandedValue {
  readonly path: readonly PropertyKey[];
  readonly from: 'environment' | 'file';
  /** What the variable or the file has, as it was put in. */
  readonly content: string;
}

/** What was found while expanding. */
export interface Expansion {
  readonly issues: ConfigIssue[];
  readonly values: ExpandedValue[];
}

/**
 * A copy of `value` with `${NAME}` in its strings replaced from the environment, and `${file:PATH}` by the text of a file without one line
 * break at its end. `${NAME:-default}` gives the default when the variable is unset or empty, as in shells; `$${` gives `${`. What is put in
 * is not expanded again. Issues: a variable that is not set, a file that cannot be used, any other `${`, a `${` in a name, and a variable in
 * another program's form.
 */
export function expandVariables(
  value: unknown,
  sources: ValueSources,
  found: Expansion,
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof value === 'string') return expandText(value, sources, found, path);
  if (Array.isArray(value))
    return value.map((element, at) => expandVariables(element, sources, found, [...path, at]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, element]) => {
      const place = [...path, key];
      if (key.includes('${'))
        found.issues.push({ path: place, message: 'variables are expanded in values, never in names' });
      return [key, expandVariables(element, sources, found, place)];
    }),
  );
}

function expandText(
  text: string,
  { environment, directory }: ValueSources,
  { issues, values }: Expansion,
  path: readonly PropertyKey[],
): string {
  const variable = foreign.exec(text)?.find((part, at) => at > 0 && part !== undefined);
  if (variable !== undefined)
    issues.push({
      path,
      message: `is not expanded in this form: write \${${variable.startsWith('{') ? 'NAME' : variable}} for the variable; a value that really has this text comes from one`,
    });
  let isRefused = false;
  const put = (from: ExpandedValue['from'], content: string) => {
    values.push({ path, from, content });
    return content;
  };
  const expanded = text.replace(expansion, (whole, file?: string, name?: string, fallback?: string) => {
    if (whole === '$${') return '${';
    if (file !== undefined) {
      const { content, problem } = secretIn(file, directory);
      if (problem !== undefined) issues.push({ path, message: problem });
      return put('file', content);
    }
    if (name === undefined) {
      isRefused = true;
      return '';
    }
    const given = environment[name];
    if (given === undefined && fallback === undefined)
      issues.push({ path, message: `the environment variable ${name} is not set` });
    return put('environment', (fallback === undefined ? given : given || fallback) ?? '');
  });
  if (isRefused)
    issues.push({ path, message: `has a \${ that expands to nothing; accepted are: ${accepted}` });
  return expanded;
}

/** The text of a file, or why there is none: an empty secret is as wrong as a missing one. */
function secretIn(
  file: string,
  directory: string,
): { readonly content: string; readonly problem?: string | undefined } {
  if (file.includes(':-'))
    return {
      content: '',
      problem:
        'has a ${file:…} with a default; a file has none, so that a secret which was not mounted is noticed: write ${file:PATH}',
    };
  const place = resolve(directory, file);
  try {
    const content = readSmallFile(place, max_file_bytes).replace(/\r?\n$/, '');
    return { content, problem: content === '' ? `the file ${place} is empty` : undefined };
  } catch (thrown) {
    if (!(thrown instanceof FileProblem)) throw thrown;
    return { content: '', problem: `the file ${place} ${thrown.message}` };
  }
}
