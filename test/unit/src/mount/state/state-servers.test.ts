import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { StateServers } from '../../../../../src/mount/state/state-servers.ts';
import { CannotServe, type RemoteServer } from '../../../../../src/records/remote-state.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { StoreMetrics } from '../../../../../src/telemetry/store-metrics.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { RemoteStandIn } from '../../../../support/remote-stand-in.ts';

/** Servers of one store; each has the accounts that its test says. */
class Servers extends RemoteStandIn {
  all: RemoteStandIn[] = [];
  readonly owners = new Map<string, RemoteStandIn>();

  override serverOf(account?: string): RemoteServer {
    return this.owners.get(account!)!;
  }

  override servers(): readonly RemoteServer[] {
    return this.all;
  }
}

let remote: Servers;
let heard: number[];
let registry: Registry;
let metrics: StoreMetrics;
let servers: StateServers;
let clock: FakeClock;
const log = createLog('silent');
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  remote = new Servers();
  remote.all = [new RemoteStandIn(), new RemoteStandIn()];
  for (const [at, account] of ['a', 'b'].entries()) remote.owners.set(account, remote.all[at]!);
  heard = [];
  registry = new Registry();
  metrics = new StoreMetrics(registry);
  clock = new FakeClock();
  servers = new StateServers(remote, { metrics, log, clock }, instances => heard.push(instances));
});
afterEach(() => {
  servers.stop();
  jest.useRealTimers();
});
const pass = async (ms: number) => {
  clock.advance(ms);
  jest.advanceTimersByTime(ms);
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
};

it('is started when every server has answered or failed to, also one that is known only then', async () => {
  const [one, other] = remote.all;
  const third = new RemoteStandIn();
  one!.heartbeat = async () => {
    remote.all = [one!, other!, third];
    return 4;
  };
  other!.fault = new CannotServe('LOADING');
  const starting = servers.starting('b');
  await servers.started();
  await starting;
  expect([third.pulses, servers.starting('a'), servers.of('a').closed, servers.of('b').closed]).toEqual([
    1,
    undefined,
    true,
    false,
  ]);
  // The most that any of them knows.
  expect(heard.at(-1)).toBe(4);
});

it('has the longest outage, names how many servers are out, and whether all are', async () => {
  await servers.started();
  expect(servers.outage).toBeUndefined();
  const since: unknown[] = [];
  for (const [at, server] of remote.all.toReversed().entries()) {
    server.fault = new CannotServe(`OOM ${at}`);
    await pass(5000);
    since.push(servers.outage);
  }
  const message = (count: number) => expect.objectContaining({ message: `${count} of 2 servers: OOM 0` });
  expect(since).toMatchObject([
    { isTotal: false, cause: message(1) },
    { isTotal: true, cause: message(2) },
  ]);
  for (const server of remote.all) server.fault = undefined;
  // Asked twice a second meanwhile.
  await pass(500);
  expect(servers.outage).toBeUndefined();
});

it('closes the circuit breaker of a server that is gone, whose accounts go to another', async () => {
  let closed = 0;
  servers.on('closed', () => closed++);
  await servers.started();
  const [gone, other] = remote.all;
  gone!.fault = new CannotServe('READONLY');
  await pass(5000);
  expect([closed, servers.outage?.isTotal]).toEqual([2, false]);
  gone!.isGone = true;
  remote.all = [other!];
  remote.owners.set('a', other!);
  await pass(500);
  expect([closed, servers.of('a').closed, servers.outage]).toEqual([3, true, undefined]);
  expect(await registry.metrics()).toContain('sluice_store_up{store="state",operation="heartbeat"} 1\n');
  const { pulses } = gone!;
  await pass(60_000);
  expect(gone!.pulses).toBe(pulses);
});
