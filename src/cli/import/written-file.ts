import { LineCounter, parseDocument } from 'yaml';
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

const max_bytes = 16 * 1024 * 1024;

/**
 * Reads a file of YAML, as Python's programs read it, or JSON. Throws a CommandMistake with the first fault and its line, and without the
 * text of the file, which has secrets.
 */
export function readWritten(file: string): WrittenFile {
  const text = textOf(file);
  const lines = new LineCounter();
  const document = parsed(file, () =>
    parseDocument(text, { lineCounter: lines, version: '1.1', uniqueKeys: false, logLevel: 'silent' }),
  );
  const [fault] = document.errors;
  if (fault)
    throw new CommandMistake(
      `${file}: line ${fault.linePos?.[0].line ?? 1}: ${fault.code.toLowerCase().replaceAll('_', ' ')}`,
    );
  const value: unknown = parsed(file, () => document.toJS({ maxAliasCount: 1000 }));
  return { file, value, findings: new Findings(file, path => lineOf(document, lines, path)) };
}

function textOf(file: string): string {
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
    throw new CommandMistake(
      `${file} cannot be parsed: it is nested too deeply, or has an alias without its anchor or too many of them`,
    );
  }
}
