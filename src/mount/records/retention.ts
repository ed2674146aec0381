import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../common/clock.ts';
import { day_ms, hour_ms } from '../../common/durations.ts';
import { idempotency_ms } from '../../records/idempotent-requests.ts';
import type { Pruned } from '../../records/pruning.ts';
import { hours_ms, type Pruning } from '../../records/pruning.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RecordsMetrics } from '../../telemetry/records-metrics.ts';

/** How long records are kept; `Infinity` for ever. */
export interface RetentionTimes {
  readonly rows_ms: number;
  readonly sums_ms: number;
}

export interface RetentionSetup {
  readonly pruning: Pruning;
  readonly times: RetentionTimes;
  /** How much one transaction deletes. */
  readonly rows_per_step: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<RecordsMetrics, 'pruned'>;
  /** When it begins first; for tests, as is what waits. */
  readonly first_ms?: number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Long after the start, and not at all instances at once. */
const default_first_ms = () => 60_000 + Math.random() * 600_000;
const every_ms = hour_ms;
/** Keeps no process alive. */
const systemWait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { ref: false, signal });
/** The pause after each transaction, in durations of the transaction, and the shortest pause. */
const pause_factor = 4;
const min_pause_ms = 20;
const noneLeft = async () => 0;
/** How long a batch of refusals may be on its way: through an outage, in the queue on disk. */
const batches_ms = 7 * day_ms;

/**
 * Deletes what the records store need not keep any longer: once an hour, in small steps with pauses, beside everything else. Creates what
 * the ledger needs for the months to come.
 */
export class Retention {
  readonly #setup: RetentionSetup;
  readonly #closing = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(setup: RetentionSetup) {
    this.#setup = setup;
  }

  async start(): Promise<void> {
    const { first_ms = default_first_ms() } = this.#setup;
    for (let wait_ms = first_ms; await this.#pause(wait_ms); wait_ms = every_ms) await this.run();
  }

  /** Deletes all that is old now, unless another instance does. Never rejects. */
  run(): Promise<void> {
    this.#running = this.#prepare().then(() => this.#prune());
    return this.#running;
  }

  /** Returns after the transaction that is running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #prepare(): Promise<void> {
    const { pruning, clock, log } = this.#setup;
    try {
      await pruning.prepare?.(clock.epoch_ms());
    } catch (fault) {
      log.warn({ err: fault }, 'failed to create the next months of the ledger, retrying later');
    }
  }

  async #prune(): Promise<void> {
    const { pruning, times, clock, log, metrics } = this.#setup;
    const now_ms = clock.epoch_ms();
    const began_ms = performance.now();
    const pruned = { rows: 0, sums: 0 };
    try {
      for (const kind of ['rows', 'sums'] as const)
        await this.#repeat(pruning[kind], now_ms - times[`${kind}_ms`], deleted => {
          pruned[kind] += deleted;
          metrics.pruned(deleted, kind);
        });
      await this.#repeat(pruning.batches, now_ms - batches_ms, () => {});
      await this.#repeat(pruning.traffic, now_ms, () => {});
      const { responses = noneLeft, requests = noneLeft } = pruning;
      await this.#repeat(responses, now_ms, () => {});
      await this.#repeat(requests, now_ms - idempotency_ms, () => {});
      await this.#repeat(pruning.hours, now_ms - Math.min(hours_ms, times.sums_ms), () => {});
      const elapsed_ms = Math.round(performance.now() - began_ms);
      if (pruned.rows + pruned.sums > 0) log.info({ ...pruned, elapsed_ms }, 'pruned the records store');
      else log.debug({ elapsed_ms }, 'nothing to prune in the records store');
    } catch (fault) {
      log.warn({ err: fault, ...pruned }, 'failed to prune the records store, retrying later');
    }
  }

  /** Repeats a step until nothing older is left, or another instance has begun. */
  async #repeat(
    step: (before_ms: number, limit: number) => Promise<Pruned>,
    before_ms: number,
    onDeleted: (rows: number) => void,
  ): Promise<void> {
    while (before_ms >= 0 && !this.#closing.signal.aborted) {
      const began_ms = this.#setup.clock.elapsed_ms();
      const deleted = await step(before_ms, this.#setup.rows_per_step);
      if (deleted === 'taken' || deleted === 0) return;
      onDeleted(deleted);
      const took_ms = this.#setup.clock.elapsed_ms() - began_ms;
      await this.#pause(Math.max(min_pause_ms, pause_factor * took_ms));
    }
  }

  /** False once it is being closed. */
  async #pause(ms: number): Promise<boolean> {
    const { wait = systemWait } = this.#setup;
    const { signal } = this.#closing;
    await wait(ms, signal).catch(() => {});
    return !signal.aborted;
  }
}
