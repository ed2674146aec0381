import { expect, it } from '@jest/globals';
import { systemClock } from '../../../../../src/clock.ts';
import { StoreSync } from '../../../../../src/stores/accounts/store-sync.ts';
import type { Changes } from '../../../../../src/stores/records/change-feed.ts';
import { capturedLog } from '../../../../support/captured-log.ts';

/** A poll of a store that fails when `fail` is called. */
function hangingSync() {
  const { log, lines } = capturedLog();
  const { promise, reject } = Promise.withResolvers<Changes>();
  const sync = new StoreSync({ since: () => promise }, systemClock, log, () => {});
  return { sync, lines, fail: () => reject(new Error('the store is closed')) };
}

it('logs no outage of a store that is closed while it is polled', async () => {
  const { sync, lines, fail } = hangingSync();
  const polled = sync.refresh();
  sync.stop();
  fail();
  await polled;
  expect([lines, sync.outage]).toEqual([[], undefined]);
});

it('logs an outage of a store that fails while it is polled', async () => {
  const { sync, lines, fail } = hangingSync();
  const polled = sync.refresh();
  fail();
  await polled;
  expect(lines).toMatchObject([{ level: 50, err: { message: 'the store is closed' } }]);
  expect(sync.outage).toBeDefined();
});
