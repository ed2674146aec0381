import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { Heartbeat } from '../../../../../src/mount/state/heartbeat.ts';
import { StoreCircuitBreaker } from '../../../../../src/mount/state/store-circuit-breaker.ts';
import { CannotServe, type RemoteServer } from '../../../../../src/records/remote-state.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { StoreMetrics } from '../../../../../src/telemetry/store-metrics.ts';

let beats: PromiseWithResolvers<number>[];
let heard: number[];
let circuit: StoreCircuitBreaker;
let heartbeat: Heartbeat;

beforeEach(() => {
  jest.useFakeTimers();
  beats = [];
  heard = [];
  circuit = new StoreCircuitBreaker(new StoreMetrics(new Registry()), createLog('silent'));
  const remote: Pick<RemoteServer, 'heartbeat'> = {
    heartbeat() {
      const beat = Promise.withResolvers<number>();
      beats.push(beat);
      return beat.promise;
    },
  };
  heartbeat = new Heartbeat(remote as RemoteServer, circuit, instances => void heard.push(instances));
});
afterEach(() => {
  heartbeat.stop();
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

it('beats every five seconds, and reports how many instances the store knows', async () => {
  const started = heartbeat.start();
  expect(beats).toHaveLength(1);
  beats[0]!.resolve(3);
  await started;
  expect(heard).toEqual([3]);
  await pass(4999);
  expect(beats).toHaveLength(1);
  await pass(1);
  expect(beats).toHaveLength(2);
});

it('beats again soon after a failure, and twice a second during an outage', async () => {
  const started = heartbeat.start();
  beats[0]!.reject(new Error('one failure'));
  await started;
  await pass(99);
  expect(beats).toHaveLength(1);
  await pass(1);
  expect(beats).toHaveLength(2);
  beats[1]!.reject(new CannotServe('MISCONF'));
  await pass(0);
  expect(circuit.outage !== undefined).toBe(true);
  await pass(499);
  expect(beats).toHaveLength(2);
  await pass(1);
  expect(beats).toHaveLength(3);
  expect(heard).toEqual([]);
});

it('stops for good, even after a beat that was in flight', async () => {
  const started = heartbeat.start();
  heartbeat.stop();
  beats[0]!.resolve(1);
  await started;
  expect(jest.getTimerCount()).toBe(0);
  await pass(60_000);
  expect(beats).toHaveLength(1);
});

it('takes a store that never answers for one that has failed, so that the start goes on', async () => {
  let isStarted = false;
  const started = heartbeat.start().then(() => (isStarted = true));
  await pass(9999);
  expect([isStarted, circuit.closed]).toEqual([false, true]);
  await pass(1);
  await started;
  expect(circuit.closed).toBe(false);
  await pass(100);
  expect(beats).toHaveLength(2);
});
