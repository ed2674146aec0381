import { systemClock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { CannotServe, CommandRejected, Unreachable } from './remote-state.ts';

/** How many incidents in a row open the circuit breaker. */
const max_incidents = 3;
/** How often the log is told of rejected commands of one operation. */
const rejected_log_ms = 60_000;

/**
 * StoreCircuitBreaker breaker of a remote store. After a silence or a lost connection only the heartbeat asks until it is answered, so that no
 * exchange waits twice. The store is out after three of these in a row, each counted once however many operations it hit, and at once
 * where it answers that it cannot serve. A rejected command says nothing of the store: it is logged.
 */
export class StoreCircuitBreaker {
  readonly #store: string;
  readonly #metrics: StoreMetrics;
  readonly #log: Log;
  readonly #onFailure: (() => void)[] = [];
  readonly #onOut: ((cause: unknown) => void)[] = [];
  readonly #onClose: (() => void)[] = [];
  readonly #rejected_ms = new Map<string, number>();
  #closed = true;
  #isOut = false;
  /** In a row. */
  #incidents = 0;
  /** The last one that was counted. */
  #incident: unknown;

  constructor(store: string, metrics: StoreMetrics, log: Log) {
    this.#store = store;
    this.#metrics = metrics;
    this.#log = log;
    metrics.breakerClosed(store);
  }

  /** False from the first failure until the heartbeat is answered. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether that is an outage. */
  get isOut(): boolean {
    return this.#isOut;
  }

  /** Why it is not closed. */
  get cause(): unknown {
    return this.#closed ? undefined : this.#incident;
  }

  onFailure(listener: () => void): void {
    this.#onFailure.push(listener);
  }

  /** Called once for each outage. */
  onOut(listener: (cause: unknown) => void): void {
    this.#onOut.push(listener);
  }

  onClose(listener: () => void): void {
    this.#onClose.push(listener);
  }

  /** Asks the store unless it failed and has not recovered. */
  async ask<T>(operation: string, call: () => Promise<T>): Promise<T> {
    if (!this.#closed) throw new Unreachable(`the ${this.#store} store is out`, { cause: this.#incident });
    return this.#measured(operation, call);
  }

  /** Asks it in any case, and closes the circuit breaker when it answers. `call` must write: one that only reads proves too little. */
  async probe<T>(operation: string, call: () => Promise<T>): Promise<T> {
    try {
      const answer = await this.#measured(operation, call);
      this.#close();
      return answer;
    } catch (error) {
      // Out of memory or read-only, the store would have said that first.
      if (error instanceof CommandRejected) this.#close();
      throw error;
    }
  }

  async #measured<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const began_ms = systemClock.elapsed_ms();
    try {
      return await call();
    } catch (error) {
      this.#metrics.failed(this.#store, operation);
      if (error instanceof CommandRejected) this.#rejected(operation, error);
      else this.#failed(error);
      throw error;
    } finally {
      this.#metrics.asked(this.#store, operation, systemClock.elapsed_ms() - began_ms);
    }
  }

  #failed(error: unknown): void {
    const incident = (error instanceof Unreachable && error.cause) || error;
    if (this.#isOut || incident === this.#incident) return;
    this.#incident = incident;
    this.#incidents++;
    this.#closed = false;
    if (error instanceof CannotServe || this.#incidents >= max_incidents) this.#goOut(error);
    else {
      const incidents = { err: error, incidents: this.#incidents, out_at: max_incidents };
      this.#log.warn(incidents, `the ${this.#store} store failed`);
    }
    for (const listener of this.#onFailure) listener();
  }

  #rejected(operation: string, error: CommandRejected): void {
    const now_ms = systemClock.elapsed_ms();
    const logged_ms = this.#rejected_ms.get(operation) ?? Number.NEGATIVE_INFINITY;
    if (now_ms - logged_ms < rejected_log_ms) return;
    this.#rejected_ms.set(operation, now_ms);
    this.#log.error({ err: error, operation }, `the ${this.#store} store rejected a command`);
  }

  #goOut(cause: unknown): void {
    this.#isOut = true;
    this.#metrics.breakerOpened(this.#store);
    for (const listener of this.#onOut) listener(cause);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#isOut = false;
    this.#incidents = 0;
    this.#metrics.breakerClosed(this.#store);
    for (const listener of this.#onClose) listener();
  }
}
