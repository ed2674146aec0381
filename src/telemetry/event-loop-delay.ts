import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';

const resolution_ms = 10;
const second_ms = 1000;
const buckets_s = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Watch {
  users: number;
  readonly end: () => void;
}

const watches = new WeakMap<Registry, Watch>();

/**
 * Measures how late the event loop of this process is, until the returned function is called; once for all gateways of a registry. Node's
 * own figures are percentiles over all turns, in which one block of a second is lost, and begin again at each scrape: this is the longest
 * delay of each second, in a histogram that is never reset.
 */
export function watchEventLoop(registry: Registry): () => void {
  const watch = watches.get(registry) ?? begin(registry);
  watches.set(registry, watch);
  watch.users++;
  return () => {
    if (--watch.users > 0) return;
    watches.delete(registry);
    watch.end();
  };
}

function begin(registry: Registry): Watch {
  const series = new MetricFactory(registry)
    .histogram({
      name: 'sluice_event_loop_delay_seconds',
      help: 'Longest delay of the event loop in each second.',
      buckets: buckets_s,
    })
    .labels();
  const delays = monitorEventLoopDelay({ resolution: resolution_ms });
  delays.enable();
  const timer = setInterval(() => {
    // It is the time between two looks of Node, which are apart without a delay as well.
    series.observe(Math.max(0, delays.max / 1e6 - resolution_ms) / 1000);
    delays.reset();
  }, second_ms).unref();
  const end = () => {
    clearInterval(timer);
    delays.disable();
  };
  return { users: 0, end };
}
