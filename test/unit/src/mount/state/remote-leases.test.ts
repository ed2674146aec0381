import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { systemClock } from '../../../../../src/common/clock.ts';
import { outagePolicySchema } from '../../../../../src/config/state-options.ts';
import { LeasedStateStore } from '../../../../../src/mount/state/leased-state-store.ts';
import { RemoteLeases } from '../../../../../src/mount/state/remote-leases.ts';
import { told_machine_times } from '../../../../../src/records/lease-protocol.ts';
import { CannotServe, CommandRejected, Unreachable } from '../../../../../src/records/remote-state.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { StoreMetrics } from '../../../../../src/telemetry/store-metrics.ts';
import { RemoteStandIn } from '../../../../support/remote-stand-in.ts';
import { charge, limit } from '../../../../support/state-store-contract.ts';
import { until } from '../../../../support/until.ts';

const limits = [limit('requests_per_minute', 100), limit('concurrent_requests', 10)];
const opened: LeasedStateStore[] = [];

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

const open = (policies = {}, { remote = new RemoteStandIn(), min_instances = 1 } = {}) => {
  const leases = new RemoteLeases(remote, {
    policies: outagePolicySchema.parse(policies),
    min_instances,
    times: told_machine_times,
    clock: systemClock,
    log: createLog('silent'),
    metrics: new StoreMetrics(new Registry()),
  });
  const store = new LeasedStateStore(leases, systemClock);
  opened.push(store);
  const take = async () => store.reserve({ account: 'a', limits, charge: charge(1) });
  const reservation = async () => {
    const taken = await take();
    if (!taken.admitted) throw new Error('refused');
    return taken.reservation;
  };
  return { remote, store, take, reservation };
};

describe('leases of a remote store', () => {
  it('are asked for once its server has answered a heartbeat', async () => {
    const { remote, take } = open();
    await take();
    expect([remote.pulses, remote.used('a', limits)]).toEqual([1, [1, 1]]);
  });

  it('are not asked of a server that is down, whose return is noticed by itself', async () => {
    const { remote, store, take, reservation } = open();
    await take();
    remote.fault = new CannotServe('OOM');
    // What it holds is used up first.
    for (let at = 0; at < 5; at++) await take();
    expect(store.outage?.cause).toBe(remote.fault);
    const { length } = remote.messages;
    remote.fault = undefined;
    (await reservation()).settle(charge(0, 0, 0));
    expect(remote.messages).toHaveLength(length);
    await until(() => store.outage === undefined && remote.used('a', limits)[0] === 6);
    expect(remote.used('a', limits)).toEqual([6, 6]);
  });

  it.each([
    ['refused under `closed`', { default: 'closed' }, 1],
    ['refused by the local quota', {}, 100],
  ])('return what may have been reserved for a request that was %s', async (_, policies, min_instances) => {
    const { remote, store, take } = open(policies, { min_instances });
    const first = take();
    await first;
    remote.losesAnswers = new Unreachable('no answer');
    expect(
      await take().then(
        ({ admitted }) => admitted,
        ({ status }) => status,
      ),
    ).not.toBe(true);
    remote.losesAnswers = undefined;
    await until(() => store.outage === undefined && remote.used('a', limits)[1] === 1);
  });

  it('are decided locally where a command is rejected, without an outage', async () => {
    const { remote, store, take } = open();
    remote.table.exchange = () => {
      throw new CommandRejected('WRONGTYPE');
    };
    for (let at = 0; at < 5; at++) expect((await take()).admitted).toBe(true);
    expect(store.outage).toBeUndefined();
  });

  it.each([
    [{ default: 'closed' }, true],
    [{ usd_per_month: 'closed' }, false],
    [{ default: 'open' }, false],
  ])('of %j report whether every request is refused during an outage', async (policies, refuses) => {
    const { remote, store, take } = open(policies);
    remote.fault = new CannotServe('OOM');
    while (!store.outage) await take().catch(() => {});
    expect(store.outage.refuses).toBe(refuses);
  });

  it('are divided by the instances that are known', async () => {
    const { remote, take, reservation } = open();
    remote.instances = 10;
    (await reservation()).settle(charge(1));
    remote.fault = new CannotServe('OOM');
    const taken = await Promise.all(Array.from({ length: 50 }, take));
    // A place that it holds, and a tenth of ten.
    expect(taken.filter(({ admitted }) => admitted).length).toBeLessThanOrEqual(2);
  });

  it('are given to an instance that waits for them, which tells the others', async () => {
    const remote = new RemoteStandIn();
    const [busy, other] = [open({}, { remote }), open({}, { remote })];
    for (let at = 0; at < 8; at++) (await busy.reservation()).settle(charge(1));
    const wanted = await Promise.all(Array.from({ length: 12 }, other.take));
    expect(wanted.filter(({ admitted }) => admitted)).toHaveLength(10);
  });

  it('end when what was used is reported', async () => {
    const { remote, store, reservation } = open();
    for (let at = 0; at < 8; at++) (await reservation()).settle(charge(5));
    const slow = Promise.withResolvers<void>();
    remote.slow = slow.promise;
    const closing = store.close();
    await new Promise(setImmediate);
    expect(remote.closed).toBe(false);
    slow.resolve();
    await closing;
    opened.pop();
    expect([remote.used('a', limits), remote.closed]).toEqual([[8, 0], true]);
  });
});
