import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ledgerPage } from '../../../../plugins/dashboard/ledger-page.ts';
import type { PageRequest } from '../../../../plugins/dashboard/page-request.ts';
import { timeOrderedUuid } from '../../../../src/common/ids.ts';
import type { RecordsStore } from '../../../../src/records/records-store.ts';
import { openRecords } from '../../../support/open-records.ts';
import { sampleRow } from '../../src/mount/ledger/sample-row.ts';

const now_ms = Date.parse('2026-11-20T12:00:00Z');
/** In place of the hundred thousand of a gateway. */
const searched = 30;
let store: RecordsStore;

/** Of 100 requests the 20th and the 85th, by age, are of a rare model. */
beforeAll(async () => {
  store = await openRecords({ kind: 'memory' });
  await store.migrate(now_ms);
  await store.ledger.insert(
    Array.from({ length: 100 }, (_, age) =>
      sampleRow({
        id: timeOrderedUuid(now_ms - age),
        request_id: `aged-${age}`,
        started_ms: now_ms - age,
        model: age === 20 || age === 85 ? 'v/rare' : 'v/often',
      }),
    ),
  );
});
afterAll(() => store.close());

/** The page that a query names, and the queries to which its links lead. */
async function pageAt(query: string, asked: object = { model: 'v/rare' }) {
  const { list, edgeOf } = store.ledger;
  const ledger = { list, edgeOf: (about: Parameters<typeof edgeOf>[0]) => edgeOf(about, searched) };
  const context = { records: { store: { ledger } } };
  const request = { context, path: 'requests', query: new URLSearchParams(query) } as unknown as PageRequest;
  const { rows, isFirst, isPart, pager } = await ledgerPage(request, asked);
  const text = pager?.text ?? '';
  const link = (rel: string) => new RegExp(`href="requests\\?([^"]*)" rel="${rel}"`).exec(text)?.[1];
  return {
    ids: rows.map(({ request_id }) => request_id),
    isFirst,
    isPart,
    older: link('next'),
    newer: link('prev'),
  };
}

describe('a page of rare requests', () => {
  it('is searched for in a bounded number of rows, and leads on to the others and back', async () => {
    const first = await pageAt('');
    expect(first).toMatchObject({ ids: ['aged-20'], isFirst: true, isPart: true, newer: undefined });
    const second = await pageAt(first.older!);
    expect(second).toMatchObject({ ids: [], isFirst: false, isPart: true });
    const third = await pageAt(second.older!);
    expect(third).toMatchObject({ ids: ['aged-85'], isPart: true });
    const last = await pageAt(third.older!);
    expect(last).toMatchObject({ ids: [], isPart: false, older: undefined });
    // Back again, from the newest that was found to the first page.
    const back = await pageAt(third.newer!);
    expect(back).toMatchObject({ ids: [], isPart: true });
    const further = await pageAt(back.newer!);
    expect(further).toMatchObject({ ids: [], isPart: true });
    expect(await pageAt(further.newer!)).toMatchObject({ ids: ['aged-20'], isFirst: true });
  });

  it('is not bounded where an index finds the requests', async () => {
    for (const asked of [{}, { account: 'acme' }, { failed: true }])
      expect(await pageAt('', asked)).toMatchObject({ isPart: false, isFirst: true });
    expect((await pageAt('', { account: 'acme' })).ids).toHaveLength(50);
    expect((await pageAt('', { account: 'acme', model: 'v/rare' })).isPart).toBe(true);
    expect((await pageAt('', { error_type: 'none_such' })).isPart).toBe(false);
  });
});
