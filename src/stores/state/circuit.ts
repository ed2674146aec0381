import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import { systemClock } from '../../clock.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';

/** How many operations in a row fail before none is tried any more. */
const failures = 3;

/**
 * Whether the store is worth asking. What is asked through it is measured; after some failures in a row it opens, and only `probe`
 * still asks, so that no exchange ever waits to find out whether the store is back.
 */
export class Circuit {
  readonly #store: string;
  readonly #metrics: StoreMetrics;
  readonly #breaker = circuitBreaker(handleAll, {
    halfOpenAfter: 0,
    breaker: new ConsecutiveBreaker(failures),
  });

  constructor(store: string, metrics: StoreMetrics) {
    this.#store = store;
    this.#metrics = metrics;
    metrics.up(store, true);
    this.#breaker.onBreak(() => metrics.up(store, false));
    this.#breaker.onReset(() => metrics.up(store, true));
  }

  /** False while the store is out. */
  get closed(): boolean {
    return this.#breaker.state === CircuitState.Closed;
  }

  onOpen(listener: (cause: unknown) => void): void {
    this.#breaker.onBreak(reason => listener('error' in reason ? reason.error : undefined));
  }

  onClose(listener: () => void): void {
    this.#breaker.onReset(listener);
  }

  /** Asks the store if it is not known to be out. */
  async ask<T>(operation: string, call: () => Promise<T>): Promise<T> {
    if (!this.closed) throw new Error(`the ${this.#store} store is out`);
    return this.probe(operation, call);
  }

  /** Asks it in any case. */
  probe<T>(operation: string, call: () => Promise<T>): Promise<T> {
    return this.aside(operation, () => this.#breaker.execute(call));
  }

  /** Asks it and concludes nothing from the answer. */
  async aside<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const began_ms = systemClock.elapsed_ms();
    try {
      return await call();
    } catch (error) {
      this.#metrics.failed(this.#store, operation);
      throw error;
    } finally {
      this.#metrics.asked(this.#store, operation, systemClock.elapsed_ms() - began_ms);
    }
  }
}
