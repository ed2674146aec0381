import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { systemClock } from '../../../../../src/common/clock.ts';
import { outagePolicySchema } from '../../../../../src/config/state-options.ts';
import { ResilientStateStore } from '../../../../../src/mount/state/resilient-state-store.ts';
import { CannotServe, CommandRejected, Unreachable } from '../../../../../src/records/remote-state.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { StoreMetrics } from '../../../../../src/telemetry/store-metrics.ts';
import { RemoteStandIn } from '../../../../support/remote-stand-in.ts';
import { charge, limit } from '../../../../support/state-store-contract.ts';
import { until } from '../../../../support/until.ts';

const limits = [limit('requests_per_minute', 100), limit('concurrent_requests', 10)];
const opened: ResilientStateStore[] = [];

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

const open = (policies = {}, lease_ms = 15_000, min_instances = 1) => {
  const remote = new RemoteStandIn();
  const store = new ResilientStateStore(remote, {
    policies: outagePolicySchema.parse(policies),
    lease_ms,
    min_instances,
    clock: systemClock,
    log: createLog('silent'),
    metrics: new StoreMetrics(new Registry()),
  });
  opened.push(store);
  let asked = 0;
  const take = async () => store.reserve({ id: `${++asked}`, account: 'a', limits, charge: charge(1) });
  const reservation = async () => {
    const taken = await take();
    if (!taken.admitted) throw new Error('refused');
    return taken.reservation;
  };
  return { remote, store, take, reservation };
};

describe('the resilient state store', () => {
  it('probes its server before it decides the first reservation', async () => {
    const { remote, take } = open();
    await take();
    expect([remote.pulses, remote.takes]).toEqual([1, ['1']]);
  });

  it('does not call a server that is down, and detects its return by itself', async () => {
    const { remote, store, take } = open();
    remote.fault = new CannotServe('OOM');
    for (let at = 0; at < 5; at++) await take();
    expect(store.outage?.cause).toBe(remote.fault);
    const asked = remote.takes.length;
    remote.fault = undefined;
    await take();
    expect(remote.takes).toHaveLength(asked);
    await until(() => store.outage === undefined);
    await take();
    expect(remote.takes).toHaveLength(asked + 1);
  });

  it('releases what it may have reserved for a request that was rejected', async () => {
    const { remote, take } = open({ default: 'closed' });
    await take();
    remote.fault = new Unreachable('no answer');
    await expect(take()).rejects.toMatchObject({ status: 502 });
    remote.fault = undefined;
    await until(() => remote.settled.length === 1);
    expect(remote.settled[0]).toMatchObject({
      hold: { request: { id: '2' }, life: undefined },
      used: { requests: 0, tokens: 0, nano_usd: 0 },
    });
  });

  it('releases what it may have reserved for a request that its local quota rejected', async () => {
    const { remote, take } = open({}, 15_000, 100);
    await take();
    remote.fault = new Unreachable('no answer');
    expect((await take()).admitted).toBe(false);
    remote.fault = undefined;
    await until(() => remote.settled.length === 1);
    expect(remote.settled[0]).toMatchObject({
      hold: { request: { id: '2' }, life: undefined },
      used: { requests: 0, tokens: 0, nano_usd: 0 },
    });
  });

  it('decides locally where a command is rejected, without an outage', async () => {
    const { remote, store, take } = open();
    remote.fault = new CommandRejected('WRONGTYPE');
    for (let at = 0; at < 5; at++) expect((await take()).admitted).toBe(true);
    expect(store.outage).toBeUndefined();
  });

  it('reports whether every request is rejected during an outage', async () => {
    for (const [policies, refuses] of [
      [{ default: 'closed' }, true],
      [{ usd_per_month: 'closed' }, false],
      [{ default: 'open' }, false],
    ] as const) {
      const { remote, store, take } = open(policies);
      remote.fault = new CannotServe('OOM');
      while (!store.outage) await take().catch(() => {});
      expect(store.outage.refuses).toBe(refuses);
    }
  });

  it('renews its reservations as long as it holds them', async () => {
    const { remote, reservation } = open({}, 1000);
    const short = await reservation();
    const long = await reservation();
    short.settle(charge(1));
    await until(() => remote.renewed.length >= 2);
    expect(new Set(remote.renewed.flat())).toEqual(new Set(['2']));
    const next = await reservation();
    long.settle(charge(1));
    const { length } = remote.renewed;
    await until(() => remote.renewed.length >= length + 2);
    expect(new Set(remote.renewed.slice(length).flat())).toEqual(new Set(['3']));
    next.settle(charge(1));
  });

  it('does not restore a reservation that was settled during its renewal', async () => {
    const { remote, reservation } = open({}, 1000);
    const renew = remote.renew.bind(remote);
    const answers: (() => void)[] = [];
    remote.renew = async holds => {
      await renew(holds);
      await new Promise<void>(resolve => answers.push(resolve));
    };
    const settled = await reservation();
    const held = await reservation();
    await until(() => answers.length === 1);
    settled.settle(charge(1));
    answers[0]!();
    await until(() => answers.length === 2);
    expect(remote.renewed).toEqual([['1', '2'], ['2']]);
    answers[1]!();
    held.settle(charge(1));
  });

  it('renews all reservations when its server is back', async () => {
    const { remote, store, reservation } = open();
    await reservation();
    remote.fault = new CannotServe('OOM');
    for (let at = 0; at < 4; at++) await reservation();
    remote.fault = undefined;
    await until(() => store.outage === undefined && remote.renewed.length === 1);
    expect(remote.renewed).toEqual([['1', '2', '3', '4', '5']]);
  });

  it('sends a settlement once, and none for accounts without limits', async () => {
    const { remote, store, reservation } = open();
    const one = await reservation();
    for (let time = 0; time < 3; time++) one.settle(charge(5));
    const free = await store.reserve({ id: 'free', account: 'a', limits: [], charge: charge() });
    if (free.admitted) free.reservation.settle(charge(9));
    await store.settled();
    expect(remote.settled.map(({ used }) => used.tokens)).toEqual([5]);
    expect(remote.takes).toEqual(['1']);
  });

  it('closes only after all settlements are sent', async () => {
    const { remote, store, reservation } = open();
    let release = () => {};
    remote.slow = new Promise(resolve => {
      release = resolve;
    });
    (await reservation()).settle(charge(5));
    const closing = store.close();
    await new Promise(setImmediate);
    expect(remote.closed).toBe(false);
    release();
    await closing;
    expect([remote.settled.length, remote.closed]).toEqual([1, true]);
  });

  it('divides limits by the instances that it knows', async () => {
    const { remote, take, reservation } = open();
    remote.instances = 10;
    (await reservation()).settle(charge(1));
    remote.fault = new CannotServe('OOM');
    const taken = await Promise.all(Array.from({ length: 50 }, take));
    expect(taken.filter(({ admitted }) => admitted)).toHaveLength(1);
  });
});
