import { expect, it } from '@jest/globals';
import { Bulkhead } from '../../../../../../src/gateway/upstream/routing/bulkhead.ts';

/** A bulkhead whose permits are all taken. */
function full(max_concurrent: number, max_queue: number) {
  const bulkhead = new Bulkhead({ max_concurrent, max_queue });
  for (let taken = 0; taken < max_concurrent; taken++) {
    expect(bulkhead.hasPermit).toBe(true);
    bulkhead.acquire();
  }
  return { bulkhead, wait: () => bulkhead.wait(60_000) };
}

it('releases permits one by one', () => {
  const { bulkhead } = full(2, 0);
  expect([bulkhead.hasPermit, bulkhead.hasQueueRoom]).toEqual([false, false]);
  bulkhead.release();
  expect([bulkhead.hasPermit, bulkhead.in_flight]).toEqual([true, 1]);
});

it('has a queue that is bounded and served in order', async () => {
  const { bulkhead, wait } = full(1, 2);
  const waiting = [wait(), wait()];
  expect([bulkhead.hasQueueRoom, bulkhead.queued]).toEqual([false, 2]);
  const order: number[] = [];
  for (const [at, { outcome }] of waiting.entries()) void outcome.then(() => order.push(at));
  for (const { outcome } of waiting) {
    bulkhead.release();
    expect(await outcome).toBe('entered');
  }
  expect(order).toEqual([0, 1]);
  expect(bulkhead.in_flight).toBe(1);
  bulkhead.release();
  expect([bulkhead.in_flight, bulkhead.queued]).toEqual([0, 0]);
});

it('lets no request overtake the queue', () => {
  const { bulkhead, wait } = full(2, 5);
  const { cancel } = wait();
  bulkhead.release();
  expect(bulkhead.hasPermit).toBe(false);
  cancel();
});

it('admits those who wait as far as there is room under new limits', async () => {
  const { bulkhead, wait } = full(1, 3);
  const waiting = [wait(), wait()];
  bulkhead.configure({ max_concurrent: 2, max_queue: 3 });
  expect(await waiting[0]!.outcome).toBe('entered');
  expect([bulkhead.in_flight, bulkhead.queued]).toEqual([2, 1]);
  waiting[1]!.cancel();
});

it('hands no permit on above a limit that was lowered', async () => {
  const { bulkhead, wait } = full(2, 1);
  const { outcome } = wait();
  bulkhead.configure({ max_concurrent: 1, max_queue: 1 });
  bulkhead.release();
  expect([bulkhead.in_flight, bulkhead.queued]).toEqual([1, 1]);
  bulkhead.release();
  expect(await outcome).toBe('entered');
  expect([bulkhead.in_flight, bulkhead.queued]).toEqual([1, 0]);
});
