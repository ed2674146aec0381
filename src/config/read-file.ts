import { readFileSync } from 'node:fs';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from './issue.ts';

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

/** The line of the deepest part of `path` that the file has. */
function lineOf(document: Document, lines: LineCounter, path: readonly PropertyKey[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}
