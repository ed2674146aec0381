import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryStateStore } from '../../../../../src/gateway/limits/memory-state-store.ts';
import type { ReservationResult, StateStore } from '../../../../../src/gateway/limits/state-store.ts';
import { ChannelStateStore } from '../../../../../src/mount/state/channel-state-store.ts';
import { serveState } from '../../../../../src/mount/state/serve-state.ts';
import { stateMessages } from '../../../../../src/mount/state/state-messages.ts';
import { Channel } from '../../../../../src/mount/workers/channel.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { charge, describeStateStore, limit } from '../../../../support/state-store-contract.ts';
import { until } from '../../../../support/until.ts';

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The store of a worker, whose primary counts in `own`. */
function workerOf(own: StateStore, clock = new FakeClock()) {
  const { port1, port2 } = new MessageChannel();
  const channel = new Channel(port1);
  const { log, lines } = capturedLog();
  const store = new ChannelStateStore(channel, { clock, log });
  closing.push(() => port1.close());
  const served = () => {
    const primary = new Channel(port2);
    serveState(primary, own);
    return primary;
  };
  return { clock, store, lines, served, kill: () => port1.close() };
}

describeStateStore(
  'memory of the primary',
  clock => {
    const { store, served, kill } = workerOf(new MemoryStateStore(clock), clock);
    served();
    // What is settled counts once the primary has heard of it.
    const settled = async () => void (await store.statuses('a', []));
    return { store, settled, close: async () => kill() };
  },
  30,
);

describe('the state store of a worker', () => {
  const concurrent = [limit('concurrent_requests', 2), limit('requests_per_minute', 10)];
  let asked = 0;
  const reserve = async (store: StateStore, limits = concurrent): Promise<ReservationResult> =>
    store.reserve({ id: `${++asked}`, account: 'a', limits, charge: charge(5) });
  const left = async (store: StateStore) =>
    (await store.statuses('a', concurrent)).map(({ remaining }) => remaining);

  it('admits exactly as many of a burst over several workers as the limit says', async () => {
    const own = new MemoryStateStore();
    const workers = Array.from({ length: 4 }, () => workerOf(own));
    for (const { served } of workers) served();
    const limits = [limit('requests_per_minute', 10)];
    const taken = await Promise.all(
      Array.from({ length: 48 }, (_, at) => reserve(workers[at % 4]!.store, limits)),
    );
    expect(taken.filter(({ admitted }) => admitted)).toHaveLength(10);
  });

  it('gives the concurrency of a worker that has ended back, and keeps its requests counted', async () => {
    const own = new MemoryStateStore();
    const [dead, other] = [workerOf(own), workerOf(own)];
    dead.served();
    other.served();
    expect([await reserve(dead.store), await reserve(dead.store), await reserve(other.store)]).toMatchObject([
      { admitted: true },
      { admitted: true },
      { admitted: false, refused_by: concurrent[0] },
    ]);
    dead.kill();
    await until(async () => (await left(other.store))[0] === 2);
    expect(await left(other.store)).toEqual([2, 8]);
  });

  it('settles before what is reserved after it', async () => {
    const { store, served } = workerOf(new MemoryStateStore());
    served();
    const one = [limit('concurrent_requests', 1)];
    for (let time = 0; time < 20; time++) {
      const taken = await reserve(store, one);
      if (!taken.admitted) throw new Error('refused');
      taken.reservation.settle(charge(1));
    }
  });

  it('knows the last status of limits without asking', async () => {
    const { store, served } = workerOf(new MemoryStateStore());
    served();
    expect(store.knownStatuses('a', concurrent)).toEqual([]);
    await reserve(store);
    expect(store.knownStatuses('a', concurrent)).toMatchObject([{ limit: concurrent[1], remaining: 9 }]);
  });

  it('refuses with server_error when the primary does not answer, and takes late reservations back', async () => {
    const own = new MemoryStateStore();
    const { store, clock, served, lines } = workerOf(own);
    const refused = reserve(store);
    clock.advance(10_001);
    await expect(refused).rejects.toMatchObject({ type: 'server_error' });
    expect(store.outage).toMatchObject({ refuses: true });
    expect(lines.filter(({ level }) => level === 50)).toHaveLength(1);
    // At once, as long as nothing is heard.
    await expect(reserve(store)).rejects.toMatchObject({ type: 'server_error' });
    served();
    await until(() => store.outage === undefined);
    expect(await left(store)).toEqual([2, 10]);
    expect(await reserve(store)).toMatchObject({ admitted: true });
  });

  it('admits in a dry run when the primary has ended, and refuses otherwise', async () => {
    const { store, kill } = workerOf(new MemoryStateStore());
    kill();
    await expect(reserve(store)).rejects.toMatchObject({ type: 'server_error' });
    const forced = { id: 'forced', account: 'a', limits: concurrent, charge: charge(), force: true };
    expect(await store.reserve(forced)).toMatchObject({ admitted: true, statuses: [] });
  });

  it('takes a reservation back that is decided after its worker has ended', async () => {
    const own = new MemoryStateStore();
    const decision = Promise.withResolvers<void>();
    const slow: StateStore = {
      reserve: request => decision.promise.then(() => own.reserve(request)),
      statuses: (account, limits) => own.statuses(account, limits),
      knownStatuses: () => [],
      close: async () => {},
    };
    const { store, served, kill } = workerOf(slow);
    const primary = served();
    const taken = reserve(store).catch(() => {});
    await primary.request('nothing').catch(() => {});
    kill();
    await taken;
    await until(() => !primary.isOpen);
    decision.resolve();
    await until(() => own.size > 0);
    expect(own.statuses('a', concurrent).map(({ remaining }) => remaining)).toEqual([2, 10]);
  });

  it('sends each settlement once, those that the channel had no room for later and in their order', async () => {
    const sent: string[] = [];
    let room = 0;
    const channel = {
      isOpen: true,
      request: async () => JSON.stringify({ statuses: [], over: [] }),
      notify: (_: string, settlement: string) => room-- > 0 && sent.push(settlement) > 0,
    };
    const setup = { clock: new FakeClock(), log: capturedLog().log };
    const store = new ChannelStateStore(channel as unknown as Channel, setup);
    for (const tokens of [1, 2, 3]) {
      const taken = await reserve(store);
      if (!taken.admitted) throw new Error('refused');
      room = tokens === 2 ? 0 : 1;
      for (const used of [tokens, 9]) taken.reservation.settle(charge(used));
    }
    const tokens = () => sent.map(text => stateMessages.readSettlement(text)[1].tokens);
    expect(tokens()).toEqual([1]);
    for (const more of [1, 5, 5]) {
      room = more;
      await store.close();
    }
    expect(tokens()).toEqual([1, 2, 3]);
  });

  it('has sent every settlement when it has closed', async () => {
    const own = new MemoryStateStore();
    const { store, served } = workerOf(own);
    served();
    const taken = await reserve(store);
    if (taken.admitted) taken.reservation.settle(charge(7));
    await store.close();
    expect(own.statuses('a', concurrent).map(({ remaining }) => remaining)).toEqual([2, 9]);
  });
});
