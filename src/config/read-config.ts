import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { ConfigError, type ConfigIssue } from '../diagnostics/config-error.ts';

/** A configuration as it is written, before it is checked. */
export interface WrittenConfig {
  readonly value: unknown;
  /** Where relative paths start. */
  readonly directory: string;
  /** One error for all mistakes, each with its line if there is a file. */
  error(issues: readonly ConfigIssue[]): ConfigError;
}

/**
 * Takes a value, which the schema will judge, or reads a file of YAML, of which JSON is a part. Throws a ConfigError for a file that cannot
 * be read or parsed.
 */
export function readConfig(source: unknown): WrittenConfig {
  if (typeof source !== 'string')
    return {
      value: source,
      directory: process.cwd(),
      error: issues => new ConfigError('configuration', issues),
    };
  const lines = new LineCounter();
  const document = parseDocument(textOf(source), { lineCounter: lines, schema: 'core' });
  if (document.errors.length > 0) {
    throw new ConfigError(
      source,
      document.errors.map(error => ({
        path: [],
        message: error.message.split('\n')[0]!,
        line: error.linePos?.[0].line,
      })),
    );
  }
  return {
    value: document.toJS({ maxAliasCount: 100 }) ?? {},
    directory: dirname(resolve(source)),
    error: issues =>
      new ConfigError(
        source,
        issues.map(issue => ({ ...issue, line: lineOf(document, lines, issue.path) })),
      ),
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigError(file, [{ path: [], message: `cannot be read: ${code}` }]);
  }
}

/** The line of the deepest part of `path` that the file has: of its name where it has one, since its value may begin below. */
function lineOf(document: Document, lines: LineCounter, path: readonly PropertyKey[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const parent = length > 1 ? document.getIn(path.slice(0, length - 1), true) : document.contents;
    const pair = isMap(parent) ? parent.items.find(({ key }) => nameOf(key) === path[length - 1]) : undefined;
    const node = pair?.key ?? document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}

const nameOf = (key: unknown): string => String(isScalar(key) ? key.value : key);
