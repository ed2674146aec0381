import { setTimeout } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '../../../../../src/common/clock.ts';
import type { ReservationResult, StateStore } from '../../../../../src/gateway/limits/state-store.ts';
import { LeasedStateStore, unlimited } from '../../../../../src/mount/state/leased-state-store.ts';
import { LeaseHolder } from '../../../../../src/mount/state/leases/lease-holder.ts';
import { LeaseTable } from '../../../../../src/mount/state/leases/lease-table.ts';
import type { PastUseSource } from '../../../../../src/mount/state/past-restorer.ts';
import { openSharedState, openWorkerState } from '../../../../../src/mount/state/shared-leases.ts';
import { Channel } from '../../../../../src/mount/workers/channel.ts';
import { Workers } from '../../../../../src/mount/workers/workers.ts';
import { type LeaseMessage, process_times } from '../../../../../src/records/lease-protocol.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { charge, describeStateStore, limit } from '../../../../support/state-store-contract.ts';
import { patience_ms, until } from '../../../../support/until.ts';

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

describeStateStore(
  'leases of a table in this process',
  clock => {
    // The clock jumps over everything that is due meanwhile.
    const times = {
      ...process_times,
      lease_ms: Number.MAX_SAFE_INTEGER,
      remembered_ms: Number.MAX_SAFE_INTEGER,
    };
    const table = new LeaseTable(clock, 'one', times);
    const source = {
      times,
      holder: new LeaseHolder(times),
      outage: undefined,
      fault: () => undefined,
      exchange: (message: LeaseMessage) => table.exchange('one', message),
      reserve: () => unlimited,
      statuses: () => [],
    };
    const store = new LeasedStateStore(source, clock);
    const accounts = new Set<string>();
    const { reserve } = store;
    store.reserve = request => {
      accounts.add(request.account);
      return reserve.call(store, request);
    };
    const { advance } = clock;
    clock.advance = ms => {
      for (const account of accounts) void store.statuses(account, []);
      advance.call(clock, ms);
    };
    return { store };
  },
  100,
);

/** A primary and workers, whose messages take turns of the event loop. */
function server<Of extends Clock>({ past, clock }: { past?: PastUseSource; clock: Of }) {
  const { log, lines } = capturedLog();
  const workers = new Workers();
  const primary = openSharedState(workers, { clock, log, past });
  closing.push(() => primary.close());
  const worker = ({ isServed = true } = {}) => {
    const { port1, port2 } = new MessageChannel();
    const end = new Channel(port2);
    const store = openWorkerState(new Channel(port1), { clock, log });
    const serve = () => workers.add(1, end);
    if (isServed) serve();
    closing.push(() => port1.close());
    return { store, serve, kill: () => port1.close() };
  };
  return { clock, lines, primary, worker };
}

describe('the state store of workers', () => {
  const concurrent = [limit('concurrent_requests', 2), limit('requests_per_minute', 10)];
  const wide = [limit('requests_per_minute', 100_000), limit('tokens_per_minute', 1_000_000)];
  const reserve = async (store: StateStore, limits = concurrent): Promise<ReservationResult> =>
    store.reserve({ account: 'a', limits, charge: charge(5) });
  const admitted = async (store: StateStore, limits = concurrent) => {
    const taken = await reserve(store, limits);
    if (!taken.admitted) throw new Error(`refused by ${taken.refused_by.name}`);
    return taken.reservation;
  };
  const left = async (store: StateStore, limits = concurrent) =>
    (await store.statuses('a', limits)).map(({ remaining }) => remaining);

  it('admits exactly as many of a burst over several workers as the limit says', async () => {
    const { worker } = server({ clock: new FakeClock() });
    const workers = Array.from({ length: 4 }, () => worker());
    const limits = [limit('requests_per_minute', 10)];
    const taken = await Promise.all(
      Array.from({ length: 48 }, (_, at) => reserve(workers[at % 4]!.store, limits)),
    );
    expect(taken.filter(({ admitted }) => admitted)).toHaveLength(10);
  });

  it('answers without a promise from what it holds, and shows others their use within a second', async () => {
    const { worker, primary, clock } = server({ clock: new FakeClock() });
    const { store } = worker();
    for (let time = 0; time < 5; time++) await admitted(store, wide);
    const request = { id: 'b', account: 'a', limits: wide, charge: charge(5) };
    const taken = store.reserve(request);
    expect(taken).toMatchObject({
      admitted: true,
      statuses: [{ remaining: 99_994 }, { remaining: 999_970 }],
    });
    clock.advance(1000);
    await until(async () => (await left(primary, wide))[0] === 99_994);
  });

  it.each([
    limit('requests_per_minute', 137),
    limit('tokens_per_day', 3 * 137),
    limit('usd_per_month', 3 * 137),
    limit('concurrent_requests', 137),
    limit('tokens_per_minute', 3 * 137, 'vendor/model'),
    { ...limit('requests_per_minute', 137), key: 'key_one' },
  ])('lets one of three that gets all requests use $name up to the limit, within 100 ms', async one => {
    const { worker } = server({ clock: systemClock });
    const [busy, ...others] = [worker(), worker(), worker()];
    const ask = async (store: StateStore) => {
      const taken = await store.reserve({ account: 'a', limits: [one], charge: charge(3, 3) });
      return taken.admitted ? taken.reservation : undefined;
    };
    // All three hold blocks, and use none of them.
    let used = 0;
    for (let round = 0; round < 12; round++)
      for (const { store } of [busy, ...others]) {
        (await ask(store))!.settle(charge(3, 3));
        used++;
      }
    const began_ms = performance.now();
    const burst = await Promise.all(Array.from({ length: 300 }, () => ask(busy.store)));
    const counted = one.name === 'concurrent_requests' ? 0 : used;
    expect(counted + burst.filter(Boolean).length).toBe(137);
    expect(performance.now() - began_ms).toBeLessThan(patience_ms(100));
  });

  it('gives the concurrency of a worker that has ended back, and keeps its requests counted', async () => {
    const { worker } = server({ clock: new FakeClock() });
    const [dead, other] = [worker(), worker()];
    await admitted(dead.store);
    await admitted(dead.store);
    expect(await reserve(other.store)).toMatchObject({ admitted: false, refused_by: concurrent[0] });
    dead.kill();
    await until(async () => (await left(other.store))[0] === 2);
    expect((await left(other.store))[1]).toBeLessThanOrEqual(8);
  });

  it('settles before what is reserved after it', async () => {
    const { worker } = server({ clock: new FakeClock() });
    const { store } = worker();
    const one = [limit('concurrent_requests', 1)];
    for (let time = 0; time < 20; time++) (await admitted(store, one)).settle(charge(1));
  });

  it('settles once', async () => {
    const { worker } = server({ clock: new FakeClock() });
    const { store } = worker();
    const reservation = await admitted(store, wide);
    for (const tokens of [100, 900, 0]) reservation.settle(charge(tokens));
    expect(await left(store, wide)).toEqual([99_999, 999_900]);
  });

  it('knows the last status of limits without asking', async () => {
    const { worker } = server({ clock: new FakeClock() });
    const { store } = worker();
    expect(store.knownStatuses('a', concurrent)).toEqual([]);
    await reserve(store);
    expect(store.knownStatuses('a', concurrent)).toMatchObject([{ remaining: 1 }, { remaining: 9 }]);
  });

  it('refuses with server_error when the primary does not answer, and takes late reservations back', async () => {
    const { clock, worker, lines } = server({ clock: new FakeClock() });
    const { store, serve } = worker({ isServed: false });
    const refused = reserve(store);
    clock.advance(10_001);
    await expect(refused).rejects.toMatchObject({ type: 'server_error' });
    expect(store.outage).toMatchObject({ refuses: true });
    expect(lines.filter(({ level }) => level === 50)).toHaveLength(1);
    // At once, as long as nothing is heard.
    await expect(reserve(store)).rejects.toMatchObject({ type: 'server_error' });
    serve();
    clock.advance(1001);
    await until(() => store.outage === undefined);
    expect(await left(store)).toEqual([2, 10]);
    expect(await reserve(store)).toMatchObject({ admitted: true });
  });

  it('admits in a dry run when the primary has ended, and refuses otherwise', async () => {
    const { worker } = server({ clock: new FakeClock() });
    const { store, kill } = worker();
    kill();
    await expect(store.statuses('a', concurrent)).rejects.toMatchObject({ type: 'server_error' });
    await expect(reserve(store)).rejects.toMatchObject({ type: 'server_error' });
    const forced = { id: 'forced', account: 'a', limits: concurrent, charge: charge(), force: true };
    expect(await store.reserve(forced)).toMatchObject({ admitted: true, statuses: [] });
  });

  it('gives all back when it closes, and has reported what it used', async () => {
    const { worker, primary } = server({ clock: new FakeClock() });
    const { store } = worker();
    for (let time = 0; time < 8; time++) (await admitted(store, wide)).settle(charge(7));
    await store.close();
    expect(await left(primary, wide)).toEqual([99_992, 999_944]);
    // Nothing is in a block: a request for all that is left is admitted.
    const all = charge(999_944, 0, 99_992);
    expect(primary.reserve({ account: 'a', limits: wide, charge: all })).toMatchObject({
      admitted: true,
    });
  });

  it('counts from what the ledger has, asked once, and counts nothing for a worker that has ended meanwhile', async () => {
    const daily = [limit('tokens_per_day', 100)];
    const answer = Promise.withResolvers<void>();
    let asked = 0;
    const find = async () => {
      asked++;
      await answer.promise;
      return { of: () => 90 };
    };
    const { worker } = server({ clock: new FakeClock(), past: { find } });
    const [dead, other] = [worker(), worker()];
    const lost = reserve(dead.store, daily).catch(() => 'lost');
    await until(() => asked === 1);
    dead.kill();
    expect(await lost).toBe('lost');
    // The primary hears of it in one of its next turns.
    await setTimeout(50);
    answer.resolve();
    expect(await left(other.store, daily)).toEqual([10]);
    await admitted(other.store, daily);
    await admitted(other.store, daily);
    expect(await reserve(other.store, daily)).toMatchObject({ admitted: false, refused_by: daily[0] });
    expect(asked).toBe(1);
  });
});
