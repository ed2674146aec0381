import { type Command, Option } from 'commander';
import { notOneOf } from '../diagnostics/config-error.ts';
import { csvOf } from '../stores/records/csv.ts';
import { CommandMistake } from './command.ts';

const formats = ['table', 'csv', 'json'] as const;

/** How rows are printed. */
export interface FormatOptions {
  readonly format: (typeof formats)[number];
}

/** Adds `--format` and `--csv`. */
export const withFormat = (command: Command): Command =>
  command
    .option('--format <FORMAT>', formats.join(', '), formatOf, 'table')
    .addOption(new Option('--csv', 'short for --format csv').implies({ format: 'csv' }));

function formatOf(text: string): FormatOptions['format'] {
  const known = formats.find(name => name === text);
  if (!known) throw new CommandMistake(`--format ${notOneOf(text, formats)}`);
  return known;
}

/** One column: its title, how it is shown, and whether it is a number. */
export interface Column<R> {
  readonly title: string;
  readonly value: (row: R) => string | number;
  readonly isNumber?: boolean;
}

/** Rows for people, for spreadsheets, or for programs. */
export function shownRows<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  { format }: FormatOptions,
): string {
  if (format === 'json') {
    const objects = rows.map(row =>
      Object.fromEntries(columns.map(({ title, value }) => [title, value(row)])),
    );
    return JSON.stringify(objects, null, 2);
  }
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map(row => columns.map(({ value }) => String(value(row)))),
  ];
  if (format === 'csv') return csvOf(cells);
  const widths = columns.map((_, at) => Math.max(...cells.map(line => line[at]!.length)));
  const pad = (cell: string, at: number) =>
    columns[at]!.isNumber ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!);
  return cells.map(line => line.map(pad).join('  ').trimEnd()).join('\n');
}

/** `2026-11-20 12:00`, in UTC; empty for `null`. */
export const shownTime = (epoch_ms: number | null): string =>
  epoch_ms === null ? '' : new Date(epoch_ms).toISOString().slice(0, 16).replace('T', ' ');
