import type { Metrics } from '../../telemetry/metrics.ts';
import type { Exchange } from '../exchange/exchange.ts';

export interface BackgroundLimits {
  /** Time for reading on a reply whose client has its answer or has gone. */
  readonly max_background_ms: number;
  /** Replies that may be read on at the same time; further ones are aborted. */
  readonly max_background: number;
}

/** A reply that may be read on. */
export interface BackgroundRead {
  /** True when nothing more will come. */
  readonly ended: boolean;
  /** Ends the reply; pending reads reject. */
  cancel(): void;
}

/**
 * Waits for whole replies to end, for the bill alone, limited in time and number. Silence is bounded by `idle_timeout_ms` of the provider.
 * Streams are not read on: a client that leaves one ends its attempt.
 */
export class Background {
  #limits: BackgroundLimits;
  readonly #metrics: Metrics;
  #running = 0;

  constructor(limits: BackgroundLimits, metrics: Metrics) {
    this.#limits = limits;
    this.#metrics = metrics;
  }

  /** Replaces the limits; what is being read has the time that it had. */
  configure(limits: BackgroundLimits): void {
    this.#limits = limits;
  }

  /** Waits for `pending` to end; aborts it after the time allowed, or at once above `max_background`. Never throws. */
  async finish(
    exchange: Exchange,
    source: BackgroundRead | undefined,
    pending: Promise<unknown> | undefined,
  ): Promise<void> {
    if (!source) return;
    const isOver = !pending || source.ended || exchange.aborted;
    if (isOver || this.#running >= this.#limits.max_background) {
      source.cancel();
      if (!isOver) exchange.end.readAborted();
      // Its usage must be counted before the record is made.
      await pending?.catch(() => {});
      return;
    }
    this.#running++;
    this.#metrics.backgroundReads(1);
    const abort = () => exchange.end.readAborted();
    const timer = setTimeout(() => {
      exchange.log.warn(
        { model: exchange.model?.id },
        'stopped reading a reply for billing after max_background_ms',
      );
      abort();
      source.cancel();
    }, this.#limits.max_background_ms).unref();
    // At a shutdown.
    exchange.onAbort(abort);
    await pending.catch(() => {});
    exchange.offAbort(abort);
    clearTimeout(timer);
    this.#running--;
    this.#metrics.backgroundReads(-1);
  }
}
