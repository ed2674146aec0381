import { describe, expect, it } from '@jest/globals';
import { MemoryStateStore } from '../../../../../src/stores/limits/memory-state-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { charge, describeStateStore, limit } from '../../../../support/state-store-contract.ts';

describeStateStore('memory', clock => ({ store: new MemoryStateStore(clock) }));

describe('what the memory store remembers', () => {
  const open = () => {
    const clock = new FakeClock();
    const store = new MemoryStateStore(clock);
    let asked = 0;
    const take = (account: string, limits = [limit('requests_per_minute', 5)]) => {
      const taken = store.take({ id: `${++asked}`, account, limits, reserve: charge(10, 10) });
      if (!taken.admitted) throw new Error('refused');
      return taken.ticket;
    };
    /** Takes of one account, which forget others on their way. */
    const sweep = (times: number) => {
      for (let time = 0; time < times; time++) take('sweeper', []).settle(charge());
    };
    return { clock, store, take, sweep };
  };

  it('is nothing of accounts that have been idle for a minute', () => {
    const { clock, store, take, sweep } = open();
    for (let at = 0; at < 100_000; at++) take(`account-${at}`).settle(charge());
    expect(store.size).toBe(100_000);
    clock.advance(61_000);
    sweep(60_000);
    expect(store.size).toBeLessThanOrEqual(1);
  });

  it('stays bounded by the accounts of a minute while ever new ones come', () => {
    const { clock, store, take } = open();
    let most = 0;
    for (let at = 0; at < 100_000; at++) {
      take(`account-${at}`).settle(charge());
      clock.advance(60);
      most = Math.max(most, store.size);
    }
    // 1000 come in a minute.
    expect(most).toBeLessThan(3000);
  });

  it.each([
    ['the day', [limit('tokens_per_day', 100)], 12 * 3_600_000],
    ['the month', [limit('usd_per_month', 100)], 9.5 * 86_400_000],
  ])('is kept for the rest of %s where that counts', (_, limits, rest_ms) => {
    const { clock, store, take, sweep } = open();
    take('a', limits).settle(charge(5, 5));
    clock.advance(rest_ms - 1);
    sweep(10);
    expect(store.standings('a', limits)[0]!.remaining).toBe(95);
    clock.advance(1);
    expect(store.standings('a', limits)[0]!.remaining).toBe(100);
    // All have been looked at just now.
    clock.advance(1000);
    sweep(10);
    expect(store.size).toBeLessThanOrEqual(1);
  });

  it('is kept while an exchange runs, however long', () => {
    const { clock, store, take, sweep } = open();
    const limits = [limit('tokens_per_minute', 100), limit('concurrent_requests', 1)];
    const ticket = take('a', limits);
    clock.advance(3_600_000);
    sweep(10);
    expect(store.standings('a', limits).map(({ remaining }) => remaining)).toEqual([100, 0]);
    ticket.settle(charge(25));
    expect(store.standings('a', limits).map(({ remaining }) => remaining)).toEqual([85, 1]);
    clock.advance(61_000);
    sweep(10);
    expect(store.size).toBeLessThanOrEqual(1);
  });

  it('is not made by asking', () => {
    const { store } = open();
    store.standings('nobody', [limit('requests_per_minute', 5)]);
    expect(store.size).toBe(0);
  });

  it('survives a clock that is set back and forth over midnight', () => {
    let epoch_ms = Date.UTC(2026, 10, 21, 23, 59, 59);
    const store = new MemoryStateStore({ epoch_ms: () => epoch_ms, elapsed_ms: () => 0 });
    const limits = [limit('tokens_per_day', 100)];
    const take = () => store.take({ id: 'x', account: 'a', limits, reserve: charge(60) });
    const first = take();
    epoch_ms += 2000;
    take();
    epoch_ms -= 2000;
    if (first.admitted) first.ticket.settle(charge(0));
    // What the later day has taken stays taken: it goes on counting.
    expect(store.standings('a', limits)[0]!.remaining).toBe(40);
  });
});

describe('the memory store whose clock is set', () => {
  const limits = [limit('tokens_per_day', 100), limit('usd_per_month', 100), limit('requests_per_minute', 2)];
  const open = (began_ms: number) => {
    const clock = new FakeClock(began_ms);
    const store = new MemoryStateStore(clock);
    let asked = 0;
    const take = () =>
      store.take({ id: `${++asked}`, account: 'a', limits, reserve: { ...charge(60, 60), requests: 1 } });
    return { clock, store, take };
  };

  it('gives no day and no month twice when it is set back over midnight', () => {
    const { clock, store, take } = open(Date.UTC(2026, 11, 1));
    expect(take().admitted).toBe(true);
    clock.set(-60_000);
    expect(take()).toMatchObject({ admitted: false });
    expect(store.standings('a', limits).map(({ remaining }) => remaining)).toEqual([40, 40, 1]);
    clock.advance(120_000);
    expect(take()).toMatchObject({ admitted: false });
  });

  it('counts minutes by the time that passes', () => {
    const { clock, store } = open(Date.UTC(2026, 11, 1, 12));
    const [, , minute] = limits;
    const take = () =>
      store.take({ id: 'x', account: 'a', limits: [minute!], reserve: { ...charge(), requests: 1 } })
        .admitted;
    expect([take(), take(), take()]).toEqual([true, true, false]);
    for (const by_ms of [3_600_000, -7_200_000]) {
      clock.set(by_ms);
      expect(take()).toBe(false);
    }
    clock.advance(61_000);
    expect(take()).toBe(true);
  });
});
