import type { Command } from 'commander';
import { notOneOf } from '../diagnostics/config-error.ts';
import { csvOf } from '../stores/records/csv.ts';
import type { RecordsOptions } from './command.ts';
import { CommandMistake } from './mistake.ts';

const formats = ['table', 'csv', 'json'] as const;

/** How rows are printed. */
export interface FormatOptions {
  readonly format?: string;
  readonly csv?: true;
}

/** The options of a list. */
export interface ListOptions extends RecordsOptions, FormatOptions {
  readonly limit?: string;
}

export const withFormat = (command: Command): Command =>
  command.option('--format <FORMAT>', formats.join(', ')).option('--csv', 'short for --format csv');

export const listCommand = (command: Command): Command =>
  withFormat(command).option('--limit <N>', 'how many rows; 100 if not given');

/** One column: its title, how it is shown, and whether it is a number. */
export interface Column<R> {
  readonly title: string;
  readonly value: (row: R) => string | number;
  readonly isNumber?: boolean;
}

/** Throws a CommandMistake for an unknown format. */
export function formatOf({ format, csv }: FormatOptions): (typeof formats)[number] {
  if (format === undefined) return csv ? 'csv' : 'table';
  const known = formats.find(name => name === format);
  if (!known) throw new CommandMistake(`--format ${notOneOf(format, formats)}`);
  return known;
}

/** Rows for people, for spreadsheets, or for programs. */
export function shownRows<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  options: FormatOptions,
): string {
  const format = formatOf(options);
  if (format === 'json')
    return JSON.stringify(
      rows.map(row => objectOf(row, columns)),
      null,
      2,
    );
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

function objectOf<R>(row: R, columns: readonly Column<R>[]): Record<string, unknown> {
  return Object.fromEntries(columns.map(({ title, value }) => [title, value(row)]));
}

/** `2026-11-20 12:00`, in UTC; empty for what never was. */
export function shownTime(epoch_ms: number | null): string {
  return epoch_ms === null ? '' : new Date(epoch_ms).toISOString().slice(0, 16).replace('T', ' ');
}
