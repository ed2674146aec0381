import { systemClock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { CannotServe, CommandRejected, Unreachable } from './remote-state.ts';

/** Incidents in a row that make an outage. */
const max_incidents = 3;
/** Interval at which rejected commands of one operation are logged. */
const rejected_log_ms = 60_000;

/**
 * Circuit breaker of a remote store. It opens at a silence or a lost connection, and then only heartbeats are sent until one succeeds, so
 * that no exchange waits twice. Three such incidents in a row are an outage, each counted once for all operations that it hit; an answer
 * that the store cannot serve is one at once. A rejected command says nothing about the store: it is logged.
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

  /** False from the first failure until a heartbeat succeeds. */
  get closed(): boolean {
    return this.#closed;
  }

  /** True during an outage. */
  get isOut(): boolean {
    return this.#isOut;
  }

  /** The failure that opened it. */
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

  /** Runs an operation on the store; rejects at once while the breaker is open. */
  async call<T>(operation: string, send: () => Promise<T>): Promise<T> {
    if (!this.#closed) throw new Unreachable(`the ${this.#store} store is out`, { cause: this.#incident });
    return this.#measured(operation, send);
  }

  /** Runs an operation even while open, and closes the breaker when it succeeds. `send` must write: a read proves too little. */
  async probe<T>(operation: string, send: () => Promise<T>): Promise<T> {
    try {
      const answer = await this.#measured(operation, send);
      this.#close();
      return answer;
    } catch (error) {
      // Out of memory or read-only would have been answered first.
      if (error instanceof CommandRejected) this.#close();
      throw error;
    }
  }

  async #measured<T>(operation: string, send: () => Promise<T>): Promise<T> {
    const began_ms = systemClock.elapsed_ms();
    try {
      return await send();
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
