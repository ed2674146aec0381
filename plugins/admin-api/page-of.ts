import { z } from 'zod';
import type { PageQuery } from '../../src/plugin.ts';

/** The query of a list. */
export const pageFields = {
  after: z.string().max(256).optional().describe('`last_id` of the page before.'),
  limit: z.coerce.number().int().min(1).max(1000).default(100).describe('Records of a page.'),
};

/** The reply of a list of records, which are named in the document by their `id` of `meta`. */
export const listOf = <S extends z.ZodType>(record: S) =>
  z
    .object({
      object: z.literal('list'),
      data: z.array(record),
      first_id: z.string().nullable(),
      last_id: z.string().nullable().describe('For `after` of the next page.'),
      has_more: z.boolean(),
    })
    .meta({ id: `${record.meta()?.id}List` });

/** A page of the records that `read` finds, each shown by `viewOf`. */
export async function pageOf<R extends { readonly id: string }, V>(
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
  read: (page: PageQuery) => Promise<readonly R[]>,
  viewOf: (record: R) => V,
) {
  const found = await read({ after, limit: limit + 1 });
  const rows = found.slice(0, limit);
  return {
    object: 'list' as const,
    data: rows.map(viewOf),
    first_id: rows[0]?.id ?? null,
    last_id: rows.at(-1)?.id ?? null,
    has_more: found.length > limit,
  };
}
