import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Counter, Gauge, Registry } from 'prom-client';
import { Channel } from '../../../../../src/mount/workers/channel.ts';
import { Workers } from '../../../../../src/mount/workers/workers.ts';
import { MergedMetrics, WorkerMetrics } from '../../../../../src/mount/workers/workers-metrics.ts';
import { MetricFactory } from '../../../../../src/telemetry/metric-factory.ts';
import { openMetricsOf } from '../../../../../src/telemetry/open-metrics.ts';
import { RoutingMetrics } from '../../../../../src/telemetry/routing-metrics.ts';
import { until } from '../../../../support/until.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** The metrics of one process. */
function metricsOf() {
  const registry = new Registry();
  const metrics = new MetricFactory(registry);
  const memory = new Gauge({ name: 'process_resident_memory_bytes', help: 'm', registers: [registry] });
  return {
    registry,
    memory,
    cpu: new Counter({ name: 'process_cpu_seconds_total', help: 'c', registers: [registry] }),
    requests: metrics.counter({ name: 'requests_total', help: 'r', labels: ['status'] }),
    duration: metrics.histogram({ name: 'duration_seconds', help: 'd', buckets: [1, 2] }),
    running: metrics.gauge({ name: 'running', help: 'n' }),
    healthy: metrics.gauge({ name: 'healthy', help: 'h', aggregator: 'min' }),
    age: metrics.gauge({ name: 'age_seconds', help: 'a', aggregator: 'max' }),
    routing: new RoutingMetrics(registry),
  };
}

function setting() {
  const workers = new Workers();
  const own = metricsOf();
  const merged = new MergedMetrics(own.registry, workers);
  const start = (number: number) => {
    const { port1, port2 } = new MessageChannel();
    const primary = new Channel(port1);
    workers.add(number, primary);
    const metrics = metricsOf();
    const channel = new Channel(port2);
    const told = new WorkerMetrics(metrics.registry, channel);
    closing.push(() => port2.close());
    return { ...metrics, told, channel, kill: () => port2.close(), hasEnded: () => !primary.isOpen };
  };
  const lines = async () =>
    (await (await merged.registry()).metrics())
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'));
  return { workers, own, merged, start, lines };
}

describe('the metrics of several processes', () => {
  it('are sums, and of gauges what each of them means', async () => {
    const { own, start, lines } = setting();
    const [one, other] = [start(1), start(2)];
    for (const [at, metrics] of [own, one, other].entries()) {
      metrics.requests.labels('200').inc(at + 1);
      metrics.duration.observe(at + 0.5);
      metrics.running.set(at);
      metrics.healthy.set(at === 1 ? 0 : 1);
      metrics.age.set(at);
    }
    other.requests.labels('429').inc();
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'requests_total{status="200"} 6',
        'requests_total{status="429"} 1',
        'duration_seconds_bucket{le="1"} 1',
        'duration_seconds_bucket{le="2"} 2',
        'duration_seconds_bucket{le="+Inf"} 3',
        'duration_seconds_sum 4.5',
        'duration_seconds_count 3',
        'running 3',
        'healthy 0',
        'age_seconds 2',
      ]),
    );
  });

  it('count the circuit breakers of workers, and not those of the primary process, which are always closed', async () => {
    const { own, start, lines } = setting();
    const provider = (state: 'closed' | 'open') => ({
      name: 'p',
      healthy: true,
      breaker: { state },
      bulkhead: { in_flight: 0, queued: 0 },
      certificates: { soonest_ms: undefined },
    });
    own.routing.watch(provider('closed'));
    for (const worker of [1, 2]) start(worker).routing.watch(provider('open'));
    expect((await lines()).filter(line => line.startsWith('sluice_breaker_state'))).toEqual([
      'sluice_breaker_state{sluice_provider="p",state="closed"} 0',
      'sluice_breaker_state{sluice_provider="p",state="open"} 2',
      'sluice_breaker_state{sluice_provider="p",state="half_open"} 0',
    ]);
  });

  it("are told by process where they are Node's own", async () => {
    const { own, start, lines } = setting();
    own.memory.set(1);
    start(2).memory.set(3);
    const memory = (await lines()).filter(line => line.startsWith('process_resident'));
    expect(memory).toEqual([
      'process_resident_memory_bytes{worker="primary"} 1',
      'process_resident_memory_bytes{worker="2"} 3',
    ]);
  });

  it('keep what was counted by a worker that has ended, and nothing of its gauges and of Node itself', async () => {
    const { start, lines } = setting();
    const worker = start(1);
    worker.requests.labels('200').inc(5);
    worker.running.set(4);
    worker.cpu.inc(3);
    await lines();
    worker.requests.labels('200').inc(2);
    await worker.told.close();
    worker.kill();
    await until(worker.hasEnded);
    expect(await lines()).toEqual(expect.arrayContaining(['requests_total{status="200"} 7', 'running 0']));
    expect((await lines()).filter(line => line.startsWith('process_cpu'))).toEqual([
      'process_cpu_seconds_total{worker="primary"} 0',
    ]);
    start(1).requests.labels('200').inc();
    expect(await lines()).toContain('requests_total{status="200"} 8');
  });

  it('never go back when a worker is killed', async () => {
    const { start, lines } = setting();
    const worker = start(1);
    worker.requests.labels('200').inc(5);
    await lines();
    worker.requests.labels('200').inc(2);
    worker.kill();
    await until(worker.hasEnded);
    expect(await lines()).toContain('requests_total{status="200"} 5');
  });

  it('are what a worker told last while it hangs, within about a second', async () => {
    const { start, lines } = setting();
    const worker = start(1);
    worker.requests.labels('200').inc(5);
    await lines();
    worker.channel.handle('metrics', () => new Promise(() => {}));
    const began_ms = performance.now();
    expect(await lines()).toContain('requests_total{status="200"} 5');
    expect(performance.now() - began_ms).toBeLessThan(5000);
  });

  it('have the newest exemplar of each bucket', async () => {
    const { own, start, merged } = setting();
    own.duration.labels().observe(0.5, 'older');
    const { duration } = start(1);
    const then = Date.now();
    await until(() => Date.now() > then);
    duration.labels().observe(0.6, 'newer');
    expect(await openMetricsOf(await merged.registry())).toContain('trace_id="newer"');
  });
});

describe('the workers of a primary', () => {
  it('are told all but the one that tells, and asked by their numbers', async () => {
    const { workers, start } = setting();
    const heard: number[] = [];
    const [one, other] = [start(2), start(1)];
    one.channel.handle('note', () => void heard.push(2)).handle('ask', () => 'two');
    other.channel.handle('note', () => void heard.push(1)).handle('ask', () => 'one');
    workers.serve(channel => {
      channel.handle('tell', () => workers.notify('note', undefined, channel));
    });
    await one.channel.request('tell');
    await other.channel.request('late').catch(() => {});
    expect(heard).toEqual([1]);
    workers.notify('note');
    expect((await workers.ask('ask', 60_000)).map(({ worker, value }) => [worker, value])).toEqual([
      [1, 'one'],
      [2, 'two'],
    ]);
    expect(heard.toSorted()).toEqual([1, 1, 2]);
    expect(workers.numbers).toEqual([1, 2]);
    one.kill();
    await until(() => workers.numbers.length === 1);
  });
});
