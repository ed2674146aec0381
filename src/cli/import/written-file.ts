import { LineCounter, parseDocument } from 'yaml';
import { isDeeper } from '../../common/json-object.ts';
import { FileProblem, readSmallFile } from '../../common/small-file.ts';
import { lineOf } from '../../config/read-config.ts';
import { CommandMistake } from '../command.ts';
import { Findings } from './findings.ts';

/** A file of another gateway. */
export interface WrittenFile {
  readonly file: string;
  readonly value: unknown;
  /** Empty, and knows the lines of the file. */
  readonly findings: Findings;
}

/** Longest file: an export of 100,000 keys has 80 MB. */
const max_bytes = 128 * 1024 * 1024;
/** Longest text whose lines are looked for: the parser that knows them takes seconds per megabyte. */
const max_characters_with_lines = 512 * 1024;
/** Deepest nesting of objects and lists. */
const max_depth = 64;

/**
 * Reads a file of YAML, as Python's programs read it, or JSON. Throws a CommandMistake with the first fault and its line, and without the
 * text of the file, which has secrets.
 */
export function readWritten(file: string): WrittenFile {
  const text = textOf(file);
  const json = jsonIn(text);
  if (json !== undefined && text.length > max_characters_with_lines)
    return checked({ file, value: json, findings: new Findings(file, () => undefined) });
  const lines = new LineCounter();
  const document = parsed(file, () =>
    parseDocument(text, { lineCounter: lines, version: '1.1', uniqueKeys: false, logLevel: 'silent' }),
  );
  const [fault] = document.errors;
  if (fault)
    throw new CommandMistake(
      `${file}: line ${fault.linePos?.[0].line ?? 1}: ${fault.code.toLowerCase().replaceAll('_', ' ')}`,
    );
  const value: unknown = json ?? parsed(file, () => document.toJS({ maxAliasCount: 1000 }));
  return checked({ file, value, findings: new Findings(file, path => lineOf(document, lines, path)) });
}

function checked(written: WrittenFile): WrittenFile {
  if (isDeeper(written.value, max_depth)) throw tooDeep(written.file);
  return written;
}

/** The value of a text in JSON; undefined for any other. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text of a file. Throws a CommandMistake if it cannot be read. */
export function textOf(file: string): string {
  try {
    return readSmallFile(file, max_bytes);
  } catch (thrown) {
    if (thrown instanceof FileProblem) throw new CommandMistake(`${file} ${thrown.message}`);
    throw thrown;
  }
}

/** What `parse` returns. Too many aliases, and levels for the stack, are thrown by the parser. */
function parsed<T>(file: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw tooDeep(file);
  }
}

const tooDeep = (file: string): CommandMistake =>
  new CommandMistake(
    `${file} cannot be parsed: it is nested too deeply, or has an alias without its anchor or too many of them`,
  );
