import { readFileSync } from 'node:fs';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from '../diagnostics/config-error.ts';

/** A configuration file: its value, and the line at which a path of it stands. */
export interface ConfigFile {
  readonly value: unknown;
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

/** Reads YAML, of which JSON is a part. Throws a ConfigError for a file that cannot be read or parsed. */
export function readConfigFile(file: string): ConfigFile {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ConfigError(file, [
      { path: [], message: `cannot be read: ${(cause as NodeJS.ErrnoException).code}` },
    ]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, schema: 'core' });
  if (document.errors.length > 0) {
    throw new ConfigError(
      file,
      document.errors.map(error => ({
        path: [],
        message: error.message.split('\n')[0]!,
        line: error.linePos?.[0].line,
      })),
    );
  }
  return {
    value: document.toJS({ maxAliasCount: 100 }) ?? {},
    lineOf: path => lineOf(document, lines, path),
  };
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
