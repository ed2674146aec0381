import { CommandMistake } from './mistake.ts';

const default_rows = 100;
const page_rows = 1000;

/** `--limit`, a hundred without it. */
function limitOf(text: string | undefined): number {
  if (text === undefined) return default_rows;
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
  throw new CommandMistake(`--limit must be a number above 0, not '${text}'`);
}

/** The first rows of a list, read page by page; `hasMore` when there are others after them. */
export async function pages<R extends { readonly id: string }>(
  limit: string | undefined,
  read: (page: { limit: number; after?: string }) => Promise<readonly R[]>,
): Promise<{ rows: R[]; hasMore: boolean }> {
  const wanted = limitOf(limit);
  const rows: R[] = [];
  for (;;) {
    const last = rows.at(-1);
    // One more than is shown, to know whether there are more.
    const size = Math.min(page_rows, wanted + 1 - rows.length);
    const page = await read({ limit: size, ...(last && { after: last.id }) });
    rows.push(...page);
    if (page.length < size || rows.length > wanted)
      return { rows: rows.slice(0, wanted), hasMore: rows.length > wanted };
  }
}
