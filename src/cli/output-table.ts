import { type Command, Option } from 'commander';
import { notOneOf } from '../common/config-error.ts';
import { csvOf } from '../records/csv.ts';
import { UsageMistake } from './command.ts';

const formats = ['table', 'csv', 'json'] as const;

/** How rows are printed. */
export interface FormatOptions {
  readonly format: (typeof formats)[number];
}

/** Adds `--format` and `--csv`. */
export const withFormat = (command: Command): Command =>
  command
    .addOption(
      new Option('--format <FORMAT>', 'how rows are printed')
        .choices(formats)
        .argParser(formatOf)
        .default('table'),
    )
    .addOption(new Option('--csv', 'short for --format csv').implies({ format: 'csv' }));

function formatOf(text: string): FormatOptions['format'] {
  const known = formats.find(name => name === text);
  if (!known) throw new UsageMistake(`--format ${notOneOf(text, formats)}`);
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

const page_rows = 1000;

/** The options of a list. */
export interface ListOptions extends FormatOptions {
  readonly limit: number;
}

/** Adds `--limit` and the formats. */
export const withList = (command: Command): Command =>
  withFormat(command).option('--limit <N>', 'how many rows', limitOf, 100);

function limitOf(text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
  throw new UsageMistake(`--limit must be a number above 0, not '${text}'`);
}

/** The first `limit` rows of a list, read page by page; `hasMore` when there are others after them. */
export async function firstRows<R extends { readonly id: string }>(
  limit: number,
  read: (page: { limit: number; after: string | undefined }) => Promise<readonly R[]>,
): Promise<{ rows: R[]; hasMore: boolean }> {
  const rows: R[] = [];
  for (;;) {
    // One more than is shown, to know whether there are more.
    const size = Math.min(page_rows, limit + 1 - rows.length);
    const page = await read({ limit: size, after: rows.at(-1)?.id });
    rows.push(...page);
    if (page.length < size || rows.length > limit)
      return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
  }
}
