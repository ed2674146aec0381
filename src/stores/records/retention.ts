import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RecordsMetrics } from '../../telemetry/records-metrics.ts';
import type { Pruned, Pruning } from './pruning.ts';

/** How long what is kept in the records store; `Infinity` for ever. */
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
  /** When it begins first, and again; for tests. */
  readonly first_ms?: number;
  readonly every_ms?: number;
}

/** Long after the start, and not at all instances at once. */
const first_ms = () => 60_000 + Math.random() * 600_000;
const every_ms = 3_600_000;
/** After each transaction it pauses so many times as long as that took, and so long at least. */
const rest = 4;
const min_pause_ms = 20;
/** How long a batch of refusals may be on its way: through an outage, in the queue on disk. */
const batches_ms = 7 * 86_400_000;

/** Deletes what the records store need not keep any longer: once an hour, in small steps with pauses, beside everything else. */
export class Retention {
  readonly #setup: RetentionSetup;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(setup: RetentionSetup) {
    this.#setup = setup;
  }

  start(): void {
    this.#schedule(this.#setup.first_ms ?? first_ms());
  }

  /** Deletes all that is old now, unless another instance does. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Ends after the transaction that is under way. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closing.abort();
    await this.#running;
  }

  #schedule(wait_ms: number): void {
    this.#timer = setTimeout(async () => {
      await this.run();
      if (!this.#closing.signal.aborted) this.#schedule(this.#setup.every_ms ?? every_ms);
    }, wait_ms).unref();
  }

  async #run(): Promise<void> {
    const { pruning, times, rows_per_step, clock, log, metrics } = this.#setup;
    const now_ms = clock.epoch_ms();
    const began_ms = performance.now();
    const pruned = { rows: 0, sums: 0 };
    try {
      for (const kind of ['rows', 'sums'] as const) {
        const before_ms = now_ms - times[`${kind}_ms`];
        if (before_ms < 0) continue;
        await this.#repeat(
          () => pruning[kind](before_ms, rows_per_step),
          deleted => {
            pruned[kind] += deleted;
            metrics.pruned(kind, deleted);
          },
        );
      }
      await this.#repeat(() => pruning.batches(Math.max(0, now_ms - batches_ms), rows_per_step));
      const elapsed_ms = Math.round(performance.now() - began_ms);
      if (pruned.rows + pruned.sums > 0) log.info({ ...pruned, elapsed_ms }, 'pruned the records store');
      else log.debug({ elapsed_ms }, 'nothing to prune in the records store');
    } catch (fault) {
      log.warn({ err: fault, ...pruned }, 'the records store cannot be pruned now: tried again later');
    }
  }

  /** Takes a step again and again until nothing is left, or another instance has begun. */
  async #repeat(step: () => Promise<Pruned>, told: (deleted: number) => void = () => {}): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const began_ms = performance.now();
      const deleted = await step();
      if (deleted === 'taken' || deleted === 0) return;
      told(deleted);
      const pause_ms = Math.max(min_pause_ms, rest * (performance.now() - began_ms));
      await sleep(pause_ms, undefined, { ref: false, signal }).catch(() => {});
    }
  }
}
