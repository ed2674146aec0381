import { Registry } from 'prom-client';
import {
  isCounted,
  type MetricSnapshot,
  mergedMetrics,
  type ProcessSnapshot,
} from '../../telemetry/merged-metrics.ts';
import { breakerStateName } from '../../telemetry/routing-metrics.ts';
import type { Channel } from './channel.ts';
import type { Workers } from './workers.ts';

/** The longest that a scrape waits for a worker. What it told last is shown then, so that no sum goes back. */
const answer_ms = 1000;

type PromMetric = Parameters<Registry['registerMetric']>[0];

const snapshotOf = async (registry: Registry): Promise<readonly MetricSnapshot[]> =>
  (await registry.getMetricsAsJSON()) as unknown as MetricSnapshot[];

/** Tells the primary process the metrics of this worker: when it asks, and at the end. */
export class WorkerMetrics {
  readonly #registry: Registry;
  readonly #primary: Channel;

  constructor(registry: Registry, primary: Channel) {
    this.#registry = registry;
    this.#primary = primary.handle('metrics', () => snapshotOf(registry));
  }

  /** Tells them once more, so that what was counted since the last scrape is not lost. */
  async close(): Promise<void> {
    await this.#primary.request('metrics.last', await snapshotOf(this.#registry)).catch(() => {});
  }
}

/**
 * The metrics of the primary and of all its workers as one. What workers have counted that ended stays in the sums; of one that was killed,
 * what it told last.
 */
export class MergedMetrics {
  readonly #own: Registry;
  readonly #workers: Workers;
  /** What each worker told last. */
  readonly #last = new Map<Channel, ProcessSnapshot>();
  /** Counters and histograms of all workers that have ended, as those of one. */
  #ended: ProcessSnapshot = { worker: '', metrics: [] };

  constructor(own: Registry, workers: Workers) {
    this.#own = own;
    this.#workers = workers;
    workers.serve((channel, worker) => {
      channel.handle('metrics.last', metrics => this.#told(channel, worker, metrics));
      channel.onClosed(() => this.#end(channel));
    });
  }

  /** A registry with the metrics of all processes at this moment. Resolves in about a second at most. */
  async registry(): Promise<Registry> {
    const [own, answers] = await Promise.all([
      snapshotOf(this.#own),
      this.#workers.ask('metrics', answer_ms),
    ]);
    for (const { channel, worker, value } of answers) this.#told(channel, worker, value);
    // The primary sends no requests of clients: its circuit breakers are always closed, and would hide that those of all workers are open.
    const metrics = own.filter(({ name }) => name !== breakerStateName);
    const all = [{ worker: 'primary', metrics }, this.#ended, ...this.#last.values()];
    const merged = new Registry();
    for (const metric of mergedMetrics(all))
      merged.registerMetric({ ...metric, get: async () => metric } as unknown as PromMetric);
    return merged;
  }

  #told(channel: Channel, worker: number, metrics: unknown): void {
    // It may have ended while it was asked: what it told before is in the sums.
    if (channel.isOpen)
      this.#last.set(channel, { worker: `${worker}`, metrics: metrics as MetricSnapshot[] });
  }

  #end(channel: Channel): void {
    const last = this.#last.get(channel);
    this.#last.delete(channel);
    if (!last) return;
    const counted = { worker: '', metrics: last.metrics.filter(isCounted) };
    this.#ended = { worker: '', metrics: mergedMetrics([this.#ended, counted]) };
  }
}
