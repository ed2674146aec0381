import { describe, expect, it } from '@jest/globals';
import { Bulkhead } from '../../../../../../src/gateway/upstream/routing/bulkhead.ts';

const long = 60_000;

describe('the permits of a bulkhead', () => {
  it('are released one by one', () => {
    const bulkhead = new Bulkhead({ max_concurrent: 2, max_queue: 0 });
    bulkhead.acquire();
    expect(bulkhead.hasPermit).toBe(true);
    bulkhead.acquire();
    expect([bulkhead.hasPermit, bulkhead.hasQueueRoom]).toEqual([false, false]);
    bulkhead.release();
    expect([bulkhead.hasPermit, bulkhead.in_flight]).toEqual([true, 1]);
  });
});

describe('the queue of a bulkhead', () => {
  it('is bounded and served in order', async () => {
    const bulkhead = new Bulkhead({ max_concurrent: 1, max_queue: 2 });
    bulkhead.acquire();
    const waiting = [bulkhead.wait(long), bulkhead.wait(long)];
    expect([bulkhead.hasQueueRoom, bulkhead.queued]).toEqual([false, 2]);
    const order: number[] = [];
    for (const [at, { outcome }] of waiting.entries()) void outcome.then(() => order.push(at));
    bulkhead.release();
    expect(await waiting[0]!.outcome).toBe('entered');
    bulkhead.release();
    expect(await waiting[1]!.outcome).toBe('entered');
    expect(order).toEqual([0, 1]);
    expect(bulkhead.in_flight).toBe(1);
    bulkhead.release();
    expect([bulkhead.in_flight, bulkhead.queued]).toEqual([0, 0]);
  });

  it('lets no request overtake', () => {
    const bulkhead = new Bulkhead({ max_concurrent: 2, max_queue: 5 });
    bulkhead.acquire();
    bulkhead.acquire();
    const { cancel } = bulkhead.wait(long);
    bulkhead.release();
    expect(bulkhead.hasPermit).toBe(false);
    cancel();
  });
});

describe('a bulkhead with new limits', () => {
  it('admits those who wait as far as there is room now', async () => {
    const bulkhead = new Bulkhead({ max_concurrent: 1, max_queue: 3 });
    bulkhead.acquire();
    const waiting = [bulkhead.wait(long), bulkhead.wait(long)];
    bulkhead.configure({ max_concurrent: 2, max_queue: 3 });
    expect(await waiting[0]!.outcome).toBe('entered');
    expect([bulkhead.in_flight, bulkhead.queued]).toEqual([2, 1]);
    waiting[1]!.cancel();
  });

  it('hands no permit on above a limit that was lowered', async () => {
    const bulkhead = new Bulkhead({ max_concurrent: 2, max_queue: 1 });
    bulkhead.acquire();
    bulkhead.acquire();
    const { outcome } = bulkhead.wait(long);
    bulkhead.configure({ max_concurrent: 1, max_queue: 1 });
    bulkhead.release();
    expect([bulkhead.in_flight, bulkhead.queued]).toEqual([1, 1]);
    bulkhead.release();
    expect(await outcome).toBe('entered');
    expect([bulkhead.in_flight, bulkhead.queued]).toEqual([1, 0]);
  });
});
