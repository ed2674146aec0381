import type { Command } from 'commander';
import { CommandMistake } from './command.ts';
import { type FormatOptions, withFormat } from './output-table.ts';

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
  throw new CommandMistake(`--limit must be a number above 0, not '${text}'`);
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
