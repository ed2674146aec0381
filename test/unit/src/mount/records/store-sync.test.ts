import { beforeEach, expect, it } from '@jest/globals';
import { StoreSync } from '../../../../../src/mount/records/store-sync.ts';
import type { Changes } from '../../../../../src/records/change-feed.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock, noon_ms } from '../../../../support/fake-clock.ts';

const { log, lines } = capturedLog();
let clock: FakeClock;
let asked: (number | undefined)[];
let told: unknown[][];
let polled: PromiseWithResolvers<Changes>;
let sync: StoreSync;
beforeEach(() => {
  lines.length = 0;
  clock = new FakeClock();
  asked = [];
  told = [];
  const since = (change: number | undefined) => {
    asked.push(change);
    polled = Promise.withResolvers<Changes>();
    return polled.promise;
  };
  sync = new StoreSync(
    { since },
    clock,
    log,
    (of, { disabled, has_imported }) => void told.push([of, disabled, has_imported]),
  );
});

/** A poll that is answered after a second, or fails then. */
async function poll(answer: Changes | Error): Promise<void> {
  const refreshed = sync.refresh();
  clock.advance(1000);
  if (answer instanceof Error) polled.reject(answer);
  else polled.resolve(answer);
  await refreshed;
}
const nothing = { digests: [], accounts: [] };
const fault = new Error('the store is closed');

it('asks for what came after the last answer, and tells what has changed, at first that all may have', async () => {
  const changed = { digests: ['d'], accounts: [] };
  await poll({ change: 5, of: nothing, disabled: ['x'] });
  await poll({ change: 5, of: nothing });
  await poll(fault);
  await poll({ change: 6, of: changed, has_imported: true });
  await poll({ change: 900, of: 'all', disabled: [] });
  expect(asked).toEqual([undefined, 5, 5, 5, 6]);
  expect(told).toEqual([
    ['all', ['x'], undefined],
    [changed, undefined, true],
    ['all', [], undefined],
  ]);
});

it('is as old as the last question that was answered', async () => {
  expect(sync.age_ms).toBe(Number.POSITIVE_INFINITY);
  await poll({ change: 1, of: nothing });
  expect(sync.age_ms).toBe(1000);
  await poll(fault);
  expect(sync.age_ms).toBe(2000);
  await poll({ change: 1, of: nothing });
  expect(sync.age_ms).toBe(1000);
});

it('logs the beginning and the end of an outage once each', async () => {
  for (let time = 0; time < 3; time++) await poll(fault);
  expect(sync.outage).toEqual({ since_epoch_ms: noon_ms + 1000, cause: fault });
  await poll({ change: 1, of: nothing });
  expect(sync.outage).toBeUndefined();
  expect(lines).toMatchObject([
    { level: 50, err: { message: 'the store is closed' } },
    { level: 30, msg: 'the records store answers again' },
  ]);
});

it('logs no outage of a store that is closed while it is polled', async () => {
  const refreshed = sync.refresh();
  sync.stop();
  polled.reject(fault);
  await refreshed;
  expect([lines, sync.outage]).toEqual([[], undefined]);
});
