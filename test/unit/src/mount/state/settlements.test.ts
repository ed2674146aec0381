import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { Settlements } from '../../../../../src/mount/state/settlements.ts';
import { StoreCircuitBreaker } from '../../../../../src/mount/state/store-circuit-breaker.ts';
import { CannotServe, CommandRejected, Unreachable } from '../../../../../src/records/remote-state.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { StoreMetrics } from '../../../../../src/telemetry/store-metrics.ts';
import { RemoteStandIn } from '../../../../support/remote-stand-in.ts';
import { charge } from '../../../../support/state-store-contract.ts';
import { until } from '../../../../support/until.ts';

let remote: RemoteStandIn;
let circuit: StoreCircuitBreaker;
let settlements: Settlements;
let registry: Registry;

beforeEach(() => {
  registry = new Registry();
  const metrics = new StoreMetrics(registry);
  remote = new RemoteStandIn();
  const log = createLog('silent');
  circuit = new StoreCircuitBreaker(metrics, log);
  settlements = new Settlements(remote, circuit, metrics, log);
});

const add = (id: number) => {
  const request = { id: `${id}`, account: 'a', limits: [], charge: charge() };
  settlements.add({ hold: { request, reserved_ms: 0, life: 1 }, used: charge(id), settled_ms: 0 });
};
const arrived = () => remote.settled.map(({ hold }) => Number(hold.request.id));
const goOut = async () => {
  remote.fault = new CannotServe('OOM');
  await circuit.call('settle', () => remote.heartbeat()).catch(() => {});
  expect(circuit.closed).toBe(false);
};
const comeBack = async () => {
  remote.fault = undefined;
  await circuit.probe('heartbeat', () => remote.heartbeat());
};
const metric = async (name: string) =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await registry.metrics())?.[1]);
const dropped = (reason: string) => metric(`sluice_state_settlements_dropped_total{reason="${reason}"}`);

describe('the queue of settlements', () => {
  it('sends each at once', async () => {
    add(1);
    add(2);
    await settlements.settled();
    expect(arrived()).toEqual([1, 2]);
    expect(settlements.waiting).toBe(0);
  });

  it('waits while the store is down, and sends in order when it is back', async () => {
    await goOut();
    for (let id = 0; id < 300; id++) add(id);
    await settlements.settled();
    expect(settlements.waiting).toBe(300);
    expect(await metric('sluice_state_settlements_waiting')).toBe(300);
    await comeBack();
    // By themselves: nothing else has to be settled.
    await until(() => arrived().length === 300);
    await settlements.settled();
    expect(arrived()).toEqual(Array.from({ length: 300 }, (_, id) => id));
    expect(await metric('sluice_state_settlements_waiting')).toBe(0);
  });

  it('retries those that have failed', async () => {
    remote.fault = new CommandRejected('once');
    add(1);
    await new Promise(setImmediate);
    remote.fault = undefined;
    expect([arrived(), settlements.waiting]).toEqual([[], 1]);
    await settlements.resend();
    expect([arrived(), settlements.waiting]).toEqual([[1], 0]);
  });

  it('gives up on those that the store never takes, without delaying the others', async () => {
    const settle = remote.settle.bind(remote);
    remote.settle = async settlement => {
      if (settlement.hold.request.id === '13') throw new CommandRejected('WRONGTYPE');
      return settle(settlement);
    };
    for (let id = 10; id < 20; id++) add(id);
    // Ten times with the first.
    for (let time = 0; time < 9; time++) await settlements.settled();
    expect(arrived()).toEqual([10, 11, 12, 14, 15, 16, 17, 18, 19]);
    expect(settlements.waiting).toBe(0);
    expect(await dropped('rejected')).toBe(1);
    expect(circuit.closed).toBe(true);
  });

  it.each([
    ['cannot be reached', () => new Unreachable('no answer')],
    ['cannot be written', () => new CannotServe('OOM')],
  ])('waits for a store that %s, however often they are sent', async (_, fault) => {
    add(1);
    await settlements.settled();
    remote.fault = fault();
    add(2);
    for (let time = 0; time < 50; time++) {
      await settlements.settled();
      // The heartbeat succeeds and settlements do not.
      await circuit.probe('heartbeat', async () => {});
    }
    expect([settlements.waiting, await dropped('rejected')]).toEqual([1, 0]);
    const up = (operation: string) => metric(`sluice_store_up\\{store="state",operation="${operation}"\\}`);
    expect([await up('heartbeat'), await up('settle')]).toEqual([1, 0]);
    remote.fault = undefined;
    await settlements.settled();
    expect(arrived()).toEqual([1, 2]);
  });

  it('keeps all settlements within its limit', async () => {
    await goOut();
    for (let id = 0; id < 65_536; id++) add(id);
    expect([settlements.waiting, await dropped('queue_full')]).toEqual([65_536, 0]);
    await comeBack();
    await settlements.settled();
    expect(arrived()).toHaveLength(65_536);
  });

  it('drops and counts the oldest above its limit', async () => {
    await goOut();
    for (let id = 0; id < 70_000; id++) add(id);
    expect(settlements.waiting).toBeGreaterThanOrEqual(65_536);
    expect(settlements.waiting).toBeLessThan(65_536 + 1024);
    const lost = await dropped('queue_full');
    expect(lost + settlements.waiting).toBe(70_000);
    await comeBack();
    await settlements.settled();
    expect(arrived()).toHaveLength(70_000 - lost);
    expect(arrived().at(-1)).toBe(69_999);
  });

  it('limits how many are in flight when many have waited', async () => {
    await goOut();
    for (let id = 0; id < 1000; id++) add(id);
    let most = 0;
    let running = 0;
    const settle = remote.settle.bind(remote);
    remote.settle = async settlement => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return settle(settlement);
    };
    await comeBack();
    await settlements.settled();
    expect(arrived()).toHaveLength(1000);
    expect(most).toBeLessThanOrEqual(64);
  });
});
