import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
} from 'yaml';
import { ConfigError, type ConfigIssue } from '../common/config-error.ts';
import { valueAt } from '../common/field-path.ts';
import { FileProblem, readSmallBytes } from '../common/small-file.ts';
import type { ConfigPlace } from '../records/define-extension.ts';

/** A file of a configuration with what it contained when it was read: every process that loads it has the same. */
export class ConfigText {
  readonly file: string;
  readonly text: string;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
  }
}

/** A configuration as it is written, before it is checked. */
export interface WrittenConfig {
  readonly value: unknown;
  /** What to read again in its place: the value itself, or the file with its text. */
  readonly source: unknown;
  /** Where relative paths start. */
  readonly directory: string;
  /** One error for all mistakes, each with its line if there is a file. */
  readonly error: (issues: readonly ConfigIssue[], options?: ErrorOptions) => ConfigError;
  /** Where the value at a path comes from. */
  readonly sourceOf: (path: readonly PropertyKey[]) => ConfigPlace;
}

/**
 * Takes a value as it is, or parses a file of YAML or JSON, which is read unless it is given with its text. Throws a ConfigError for a file
 * that cannot be read or parsed.
 */
export function readConfig(source: unknown): WrittenConfig {
  if (typeof source === 'string') return parsed(new ConfigText(source, textOf(source)));
  if (source instanceof ConfigText) return parsed(source);
  const error = (issues: readonly ConfigIssue[], options?: ErrorOptions) =>
    new ConfigError('configuration', issues, options);
  const sourceOf = (path: readonly PropertyKey[]) =>
    valueAt(source, path) === undefined ? 'default' : 'code';
  return { value: source, source, directory: process.cwd(), error, sourceOf };
}

function parsed(source: ConfigText): WrittenConfig {
  const { file, text } = source;
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: 'core',
    // The parser would compare every name of a map with every other one.
    uniqueKeys: false,
  });
  const withLine = (issue: ConfigIssue) => ({
    ...issue,
    line: issue.line ?? lineOf(document, lines, issue.path),
  });
  const error = (issues: readonly ConfigIssue[], options?: ErrorOptions) =>
    new ConfigError(file, issues.map(withLine), options);
  if (document.errors.length > 0) throw error(syntaxIssues(document));
  const refused = refusedNames(document, lines);
  if (refused.length > 0) throw error(refused);
  const value = plainOf(document, error);
  const sourceOf = (path: readonly PropertyKey[]): ConfigPlace => {
    const line = valueAt(value, path) === undefined ? undefined : lineOf(document, lines, path);
    return line === undefined ? 'default' : { file, line };
  };
  return { value, source, directory: dirname(resolve(file)), error, sourceOf };
}

/** The first mistake of each line: what follows it there is its consequence. */
function syntaxIssues({ errors }: Document): ConfigIssue[] {
  const byLine = new Map<number | undefined, ConfigIssue>();
  for (const { code, message, linePos } of errors) {
    const line = linePos?.[0].line;
    const text = code === 'TAB_AS_INDENT' ? tabs : message.split('\n')[0]!;
    if (!byLine.has(line)) byLine.set(line, { path: [], message: text, line });
  }
  const issues = [...byLine.values()];
  // Without its indentation nothing below can be read as it is meant.
  const [first] = issues.filter(({ message }) => message === tabs);
  return first ? [first] : issues;
}

const tabs = 'is indented with a tab; YAML takes spaces only, also on the lines below';

function plainOf(document: Document, error: WrittenConfig['error']): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch {
    // Without the parser's words, which repeat what was written: a secret that begins with * is an alias to it.
    throw error([
      { path: [], message: 'has an alias (*name) without its anchor (&name), or too many of them' },
    ]);
  }
}

/** A mistake for each name that its map has already, and for each merge key of YAML 1.1, which would be read as a name. */
function refusedNames(document: Document, lines: LineCounter): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const lineAt = (key: unknown) => (isNode(key) && key.range ? lines.linePos(key.range[0]).line : undefined);
  visit(document, {
    Map(_, map, ancestors) {
      const { items } = map;
      const place = placeOf([...ancestors, map]);
      const names = new Map<string, number | undefined>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [name, line] = [nameOf(key), lineAt(key)];
        if (name === '<<')
          issues.push({
            path: [...place, name],
            message: 'merge keys (<<) are not supported; write the fields out',
            line,
          });
        else if (names.has(name))
          issues.push({ path: [...place, name], message: repeated(names.get(name)), line });
        else names.set(name, line);
      }
    },
  });
  return issues;
}

/** The names and positions that lead through `nodes`, from the document to a map in it. */
const placeOf = (nodes: readonly unknown[]): PropertyKey[] =>
  nodes.flatMap((node, at): PropertyKey[] => {
    if (isPair(node)) return [nameOf(node.key)];
    return isSeq(node) ? [node.items.indexOf(nodes[at + 1])] : [];
  });

const repeated = (first: number | undefined): string =>
  `stands here a second time${first === undefined ? '' : ` (first in line ${first})`}; a name can be in its map once: put both together, or remove one`;

/** Parsing takes seconds per megabyte, and a gateway that reloads answers no request meanwhile. */
const max_bytes = 4 * 1024 * 1024;

function textOf(file: string): string {
  try {
    // A pipe can be read once, at the start: `--config <(decrypt …)`.
    if (statSync(file).isFIFO()) return readFileSync(file, 'utf8');
    return readSmallBytes(file, max_bytes).toString();
  } catch (thrown) {
    throw unreadable(file, thrown);
  }
}

function unreadable(file: string, thrown: unknown): ConfigError {
  const { code, message } = thrown as NodeJS.ErrnoException;
  return new ConfigError(file, [
    { path: [], message: code === undefined ? message : `cannot be read: ${code}` },
  ]);
}

/** Throws a ConfigError for a file that cannot be read again while a gateway serves, because it would be waited for. */
export function expectRereadable(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFIFO()) throw unreadable(file, new FileProblem('is a pipe, which cannot be read again'));
}

/** The line of the deepest part of `path` that the file has: of its name where it has one, since its value may begin below. */
export function lineOf(
  document: Document,
  lines: LineCounter,
  path: readonly PropertyKey[],
): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const parent = length > 1 ? document.getIn(path.slice(0, length - 1), true) : document.contents;
    const pair = isMap(parent) ? parent.items.find(({ key }) => nameOf(key) === path[length - 1]) : undefined;
    const node = pair?.key ?? document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}

const nameOf = (key: unknown): string => String(isScalar(key) ? key.value : key);
