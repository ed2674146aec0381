import { describe, expect, it } from '@jest/globals';
import { type Limit, periodsOf } from '../../../../../src/gateway/limits/limit-table.ts';
import type { ReservationResult } from '../../../../../src/gateway/limits/state-store.ts';
import type { PastUse } from '../../../../../src/mount/state/counters/counters.ts';
import { MemoryStateStore } from '../../../../../src/mount/state/counters/memory-state-store.ts';
import { RestoredStateStore } from '../../../../../src/mount/state/restored-state-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { charge, describeStateStore, limit } from '../../../../support/state-store-contract.ts';

const day = limit('tokens_per_day', 100);
const month = limit('usd_per_month', 1000);
const ofModel: Limit = { ...limit('tokens_per_day', 50), model: 'v/one' };
const limits = [day, month, ofModel, limit('requests_per_minute', 1000)];

type Use = (limit: Limit) => number;
const nothing: Use = () => 0;
/** Of the present periods. */
const pastAt = (clock: FakeClock, use: Use): PastUse => {
  const now_ms = clock.epoch_ms();
  return {
    of: (limit, start_ms) => (start_ms === periodsOf(limit).around(now_ms).start_ms ? use(limit) : undefined),
  };
};

describeStateStore('restored', clock => {
  const own = new MemoryStateStore(clock);
  const find = async () => pastAt(clock, nothing);
  return { store: new RestoredStateStore(own, { past: { find }, clock, log: { warn() {} } }) };
});

function open(find: (account: string, clock: FakeClock) => Promise<PastUse>) {
  const clock = new FakeClock();
  const own = new MemoryStateStore(clock);
  const asked: string[] = [];
  const warnings: string[] = [];
  const store = new RestoredStateStore(own, {
    past: {
      find: ({ account, key = account }) => {
        asked.push(key);
        return find(key, clock);
      },
    },
    clock,
    log: { warn: (_: unknown, message?: string) => void warnings.push(message!) } as never,
  });
  const take = (
    tokens: number,
    account = 'a',
    under = limits,
  ): ReservationResult | Promise<ReservationResult> =>
    store.reserve({ account, limits: under, charge: charge(tokens, tokens) });
  const remaining = async (account = 'a') =>
    (await store.statuses(account, limits)).slice(0, 3).map(standing => standing.remaining);
  return { clock, own, store, asked, warnings, take, remaining };
}

const used: Use = ({ name, model }) => (name === 'usd_per_month' ? 700 : model === undefined ? 90 : 20);

describe('counters restored from the ledger', () => {
  it('include earlier usage, queried once, by the first request alone', async () => {
    const { take, asked, remaining } = open(async (_, clock) => pastAt(clock, used));
    const first = take(5);
    expect(first).toBeInstanceOf(Promise);
    expect(await first).toMatchObject({ admitted: true });
    expect(take(4)).toMatchObject({ admitted: true });
    expect(take(4)).toMatchObject({ admitted: false, refused_by: day });
    expect(await remaining()).toEqual([1, 291, 21]);
    expect(asked).toEqual(['a']);
  });

  it('include the earlier usage of a key under its own limits, beside those of the account', async () => {
    const { take, asked, store } = open(async (name, clock) =>
      pastAt(clock, name === 'key_a' ? () => 40 : used),
    );
    const ofKey: Limit = { ...day, max: 50, key: 'key_a' };
    expect(await take(5, 'a', [day, ofKey])).toMatchObject({ admitted: true });
    expect(asked.sort()).toEqual(['a', 'key_a']);
    // 40 of the ledger and 5 now; another key has not used anything.
    expect(take(6, 'a', [ofKey])).toMatchObject({ admitted: false, refused_by: ofKey });
    const statuses = await store.statuses('a', [day, ofKey]);
    expect(statuses.map(({ remaining }) => remaining)).toEqual([day.max - 95, 5]);
    expect(asked).toHaveLength(2);
  });

  it('include earlier usage once when several first requests come together', async () => {
    const { take, remaining } = open(async (_, clock) => pastAt(clock, used));
    await Promise.all([take(1), take(1), take(1)]);
    expect(await remaining()).toEqual([7, 297, 27]);
  });

  it('show earlier usage before the first request, but not in headers that do not wait', async () => {
    const { store, remaining } = open(async (_, clock) => pastAt(clock, used));
    expect(store.knownStatuses('a', limits)).toEqual([expect.objectContaining({ limit: limits[3] })]);
    expect(await remaining()).toEqual([10, 300, 30]);
    expect(store.knownStatuses('a', limits)).toHaveLength(4);
  });

  it('query nothing without a daily or monthly limit, or without an account', () => {
    const { take, asked } = open(async (_, clock) => pastAt(clock, used));
    expect(take(5, 'a', [limits[3]!])).toMatchObject({ admitted: true });
    expect(take(5, '')).toMatchObject({ admitted: true });
    expect(asked).toEqual([]);
  });

  it('include nothing of another day, and in the month only what belongs to it', async () => {
    const { take, remaining } = open(async (_, clock) => {
      const { of } = pastAt(clock, used);
      const isOver = (limit: Limit) => limit.name === 'tokens_per_day';
      return { of: (limit, start_ms) => (isOver(limit) ? undefined : of(limit, start_ms)) };
    });
    await take(1);
    expect(await remaining()).toEqual([99, 299, 49]);
  });

  it('admit requests by local counts while the ledger does not answer, and catch up when it does', async () => {
    let isOut = true;
    const { clock, take, asked, remaining, warnings } = open(async (_, at) => {
      if (isOut) throw new Error('out');
      return pastAt(at, used);
    });
    expect(await take(30)).toMatchObject({ admitted: true });
    expect(await take(1, 'b')).toMatchObject({ admitted: true });
    expect(take(1)).toMatchObject({ admitted: true });
    expect(warnings).toHaveLength(1);
    expect(asked).toEqual(['a', 'b']);
    isOut = false;
    clock.advance(1000);
    // This one does not wait for it; the ones after it are under all that the ledger has.
    expect(take(1)).toMatchObject({ admitted: true });
    await Promise.resolve();
    await Promise.resolve();
    expect(asked).toEqual(['a', 'b', 'a', 'b']);
    expect([await remaining(), await remaining('b')]).toEqual([
      [10, 300, 18],
      [10, 300, 30],
    ]);
    clock.advance(1000);
    expect(take(11)).toMatchObject({ admitted: false });
    expect(asked).toHaveLength(4);
  });

  it('let the first request of an account wait again as soon as the ledger answers', async () => {
    let isOut = true;
    const { clock, take, warnings } = open(async (account, at) => {
      if (isOut) throw new Error('out');
      // Longer than no time at all.
      if (account === 'c') await new Promise(resolve => setTimeout(resolve, 50));
      return pastAt(at, used);
    });
    await take(1, 'a');
    clock.advance(900);
    await take(1, 'b');
    isOut = false;
    clock.advance(100);
    await take(1, 'a');
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    expect(await take(11, 'c')).toMatchObject({ admitted: false, refused_by: day });
    expect(warnings).toHaveLength(1);
  });
});
