import { describe, expect, it } from '@jest/globals';
import { MemoryStateStore } from '../../../../../../src/mount/state/counters/memory-state-store.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { charge, describeStateStore, limit } from '../../../../../support/state-store-contract.ts';

describeStateStore('memory', clock => ({ store: new MemoryStateStore(clock) }));

describe('the memory state store', () => {
  const open = () => {
    const clock = new FakeClock();
    const store = new MemoryStateStore(clock);
    const reserve = (account: string, limits = [limit('requests_per_minute', 5)]) => {
      const taken = store.reserve({ account, limits, charge: charge(10, 10) });
      if (!taken.admitted) throw new Error('refused');
      return taken.reservation;
    };
    /** Takes of one account, which forget others on their way. */
    const sweep = (times: number) => {
      for (let time = 0; time < times; time++) reserve('sweeper', []).settle(charge());
    };
    return { clock, store, reserve, sweep };
  };

  it.each([
    ['accounts', (at: number) => [`account-${at}`, undefined] as const],
    ['keys', (at: number) => ['a', `key-${at}`] as const],
  ])('forgets %s that have been idle for a minute', (_, of) => {
    const { clock, store, reserve, sweep } = open();
    for (let at = 0; at < 20_000; at++) {
      const [account, key] = of(at);
      reserve(account, [{ ...limit('requests_per_minute', 5), key }]).settle(charge());
    }
    expect(store.size).toBeGreaterThanOrEqual(20_000);
    clock.advance(61_000);
    sweep(12_000);
    expect(store.size).toBeLessThanOrEqual(1);
  });

  it('stays bounded by the accounts of a minute while new ones keep coming', () => {
    const { clock, store, reserve } = open();
    let most = 0;
    for (let at = 0; at < 20_000; at++) {
      reserve(`account-${at}`).settle(charge());
      clock.advance(60);
      most = Math.max(most, store.size);
    }
    // 1000 come in a minute.
    expect(most).toBeLessThan(3000);
  });

  it.each([
    ['the day', [limit('tokens_per_day', 100)], 12 * 3_600_000],
    ['the month', [limit('usd_per_month', 100)], 9.5 * 86_400_000],
  ])('keeps counters for the rest of %s where that counts', (_, limits, rest_ms) => {
    const { clock, store, reserve, sweep } = open();
    reserve('a', limits).settle(charge(5, 5));
    clock.advance(rest_ms - 1);
    sweep(10);
    expect(store.statuses('a', limits)[0]!.remaining).toBe(95);
    clock.advance(1);
    expect(store.statuses('a', limits)[0]!.remaining).toBe(100);
    // All have been looked at just now.
    clock.advance(1000);
    sweep(10);
    expect(store.size).toBeLessThanOrEqual(1);
  });

  it('keeps counters while an exchange runs, however long', () => {
    const { clock, store, reserve, sweep } = open();
    const limits = [limit('tokens_per_minute', 100), limit('concurrent_requests', 1)];
    const reservation = reserve('a', limits);
    clock.advance(3_600_000);
    sweep(10);
    expect(store.statuses('a', limits).map(({ remaining }) => remaining)).toEqual([100, 0]);
    reservation.settle(charge(25));
    expect(store.statuses('a', limits).map(({ remaining }) => remaining)).toEqual([85, 1]);
    clock.advance(61_000);
    sweep(10);
    expect(store.size).toBeLessThanOrEqual(1);
  });

  it('creates no counters for a query', () => {
    const { store } = open();
    store.statuses('nobody', [limit('requests_per_minute', 5)]);
    expect(store.size).toBe(0);
  });

  it('survives a clock that is set back and forth over midnight', () => {
    let [epoch_ms, elapsed_ms] = [Date.UTC(2026, 10, 21, 23, 59, 59), 0];
    const store = new MemoryStateStore({ epoch_ms: () => epoch_ms, elapsed_ms: () => ++elapsed_ms });
    const limits = [limit('tokens_per_day', 100)];
    const reserve = () => store.reserve({ account: 'a', limits, charge: charge(60) });
    const first = reserve();
    epoch_ms += 2000;
    reserve();
    epoch_ms -= 2000;
    if (first.admitted) first.reservation.settle(charge(0));
    // What the later day has taken stays taken: it goes on counting.
    expect(store.statuses('a', limits)[0]!.remaining).toBe(40);
  });
});

describe('the memory store under clock changes', () => {
  const limits = [limit('tokens_per_day', 100), limit('usd_per_month', 100), limit('requests_per_minute', 2)];
  const open = (began_ms: number) => {
    const clock = new FakeClock(began_ms);
    const store = new MemoryStateStore(clock);
    const reserve = () => store.reserve({ account: 'a', limits, charge: { ...charge(60, 60), requests: 1 } });
    return { clock, store, reserve };
  };

  it('grants no day and no month twice when the clock is set back over midnight', () => {
    const { clock, store, reserve } = open(Date.UTC(2026, 11, 1));
    expect(reserve().admitted).toBe(true);
    clock.set(-60_000);
    expect(reserve()).toMatchObject({ admitted: false });
    expect(store.statuses('a', limits).map(({ remaining }) => remaining)).toEqual([40, 40, 1]);
    clock.advance(120_000);
    expect(reserve()).toMatchObject({ admitted: false });
  });

  it('counts minutes by elapsed time', () => {
    const { clock, store } = open(Date.UTC(2026, 11, 1, 12));
    const [, , minute] = limits;
    const reserve = () =>
      store.reserve({ account: 'a', limits: [minute!], charge: { ...charge(), requests: 1 } }).admitted;
    expect([reserve(), reserve(), reserve()]).toEqual([true, true, false]);
    for (const by_ms of [3_600_000, -7_200_000]) {
      clock.set(by_ms);
      expect(reserve()).toBe(false);
    }
    clock.advance(61_000);
    expect(reserve()).toBe(true);
  });
});
