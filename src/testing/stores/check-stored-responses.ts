import type { RecordsStore } from '../../records/records-store.ts';
import type { StoredResponse } from '../../records/stored-responses.ts';
import type { Expectation } from './expectation.ts';

const now_ms = Date.parse('2026-11-20T12:00:00Z');

const responseOf = (id: string, more: Partial<StoredResponse> = {}): StoredResponse => ({
  id,
  account: 'acme',
  parent: null,
  created_ms: now_ms,
  expires_ms: now_ms + 1000,
  chain_items: 2,
  chain_bytes: 7,
  content: `text of ${id}`,
  ...more,
});

const plain = (rows: readonly StoredResponse[]): StoredResponse[] => rows.map(row => ({ ...row }));

/** Checks the stored responses of a store, which may do without them. */
export async function checkStoredResponses(
  { responses, pruning }: RecordsStore,
  expect: Expectation,
): Promise<void> {
  if (!responses) return;
  const first = responseOf('resp_1', { expires_ms: now_ms + 500 });
  const second = responseOf('resp_2', { parent: 'resp_1' });
  const third = responseOf('resp_3', { parent: 'resp_2', content: 'é'.repeat(100_000) });
  for (const one of [third, first, second, first]) await responses.put(one);
  await responses.put(responseOf('resp_1', { account: 'beta', content: 'stolen' }));
  const chain = (id: string, at_ms = now_ms, limit = 10) =>
    responses.chain('acme', id, at_ms, limit).then(plain);
  expect.same('responses', 'a chain is read otherwise', [first, second, third], await chain('resp_3'));
  expect.same(
    'responses',
    'a chain has other ends than its limits',
    [[second, third], [second, third], [], []],
    [
      await chain('resp_3', now_ms, 2),
      await chain('resp_3', now_ms + 500),
      await chain('resp_1', now_ms + 500),
      await responses.chain('beta', 'resp_3', now_ms, 10),
    ],
  );
  const found = (account: string, at_ms = now_ms) =>
    responses.lookUp(account, ['resp_1', 'resp_2', 'none'], at_ms);
  expect.same(
    'responses',
    'others, or expired ones, are found',
    [2, 1, 0],
    [(await found('acme')).length, (await found('acme', now_ms + 500)).length, (await found('beta')).length],
  );
  expect.same(
    'responses',
    'one is deleted by others, or not at all',
    [false, true, false, []],
    [
      await responses.delete('beta', 'resp_3'),
      await responses.delete('acme', 'resp_3'),
      await responses.delete('acme', 'resp_3'),
      await chain('resp_3'),
    ],
  );
  const moved = responseOf('resp_2', { parent: 'resp_9' });
  expect.same(
    'responses',
    'one is replaced whose parent is another',
    [false, true, false, [moved]],
    [
      await responses.put(moved, null),
      await responses.put(moved, 'resp_1'),
      await responses.put(second, 'resp_1'),
      plain(await responses.lookUp('acme', ['resp_2'], now_ms)),
    ],
  );
  await responses.put(second, 'resp_9');
  const pruned = [await pruning.responses?.(now_ms + 500, 10), await pruning.responses?.(now_ms + 500, 10)];
  const left = plain(await responses.lookUp('acme', ['resp_1', 'resp_2'], 0));
  expect.same('responses', 'expired ones are not deleted, or others are', [[1, 0], [second]], [pruned, left]);
}
