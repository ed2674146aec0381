import { EventEmitter } from 'node:events';
import { type Clock, systemClock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import { within } from '../../common/within.ts';
import { CannotServe, CommandRejected, Unreachable } from '../../records/remote-state.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreHealth } from '../../telemetry/store-health.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';

/** Incidents in a row that make an outage. */
const max_incidents = 3;
/** Longer than a store's own time limits, which a plugin may lack. */
const longest_ms = 10_000;
/** Interval at which rejected commands of one operation are logged. */
const rejected_log_ms = 60_000;

const operations = ['exchange', 'heartbeat'] as const;

/** What the state store is asked for. */
export type StateOperation = (typeof operations)[number];

interface Events {
  /** A failure that opened the breaker or was one more of it. */
  failed: [];
  /** Once for each outage. */
  out: [Outage];
  /** Closed again, with the outage that has ended if it came to one. */
  closed: [Outage | undefined];
}

/**
 * Circuit breaker of the state store. It opens at a silence or a lost connection, and then only heartbeats are sent until one succeeds, so
 * that no exchange waits twice. Three such incidents in a row are an outage, each counted once for all operations that it hit; an answer
 * that the store cannot serve is one at once. A rejected command says nothing about the store: it is logged.
 */
export class StoreCircuitBreaker extends EventEmitter<Events> {
  /** False from the first failure until a heartbeat succeeds. */
  closed = true;
  /** Set during an outage. */
  outage: Outage | undefined;
  readonly #metrics: StoreMetrics;
  readonly #health: StoreHealth<StateOperation>;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #rejected_ms = new Map<StateOperation, number>();
  /** In a row. */
  #incidents = 0;
  /** The last one that was counted. */
  #incident: unknown;
  #isEnded = false;

  constructor(metrics: StoreMetrics, log: Log, clock = systemClock) {
    super();
    this.#metrics = metrics;
    this.#log = log;
    this.#clock = clock;
    this.#health = metrics.health('state', operations);
    metrics.prepareOutages('state');
  }

  /** The failure that opened it. */
  get cause(): unknown {
    return this.closed ? undefined : this.#incident;
  }

  /** Runs an operation on the store; rejects at once while the breaker is open. */
  async call<T>(operation: StateOperation, send: () => Promise<T>): Promise<T> {
    if (!this.closed) throw new Unreachable('the state store is down', { cause: this.#incident });
    return this.#measured(operation, send);
  }

  /** Runs an operation even while open, and closes the breaker when it succeeds. `send` must write: a read proves too little. */
  async probe<T>(operation: StateOperation, send: () => Promise<T>): Promise<T> {
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

  async #measured<T>(operation: StateOperation, send: () => Promise<T>): Promise<T> {
    const began_ms = systemClock.elapsed_ms();
    try {
      const late = () => new Unreachable(`no answer within ${longest_ms} ms`);
      const answer = await within(send(), longest_ms, late);
      this.#health.succeeded(operation);
      return answer;
    } catch (error) {
      // Of a server that counts no longer.
      if (this.#isEnded) throw error;
      this.#metrics.failed('state', operation);
      this.#health.failed(operation);
      if (error instanceof CommandRejected) this.#rejected(operation, error);
      else this.#failed(error);
      throw error;
    } finally {
      this.#metrics.asked('state', operation, systemClock.elapsed_ms() - began_ms);
    }
  }

  /** Closes for good, and reports no failures any more: the server has been replaced. */
  end(): void {
    this.#isEnded = true;
    this.#health.end();
    this.#close();
  }

  #failed(error: unknown): void {
    if (this.#isEnded) return;
    const incident = (error instanceof Unreachable && error.cause) || error;
    if (this.outage || incident === this.#incident) return;
    this.#incident = incident;
    this.#incidents++;
    this.closed = false;
    if (error instanceof CannotServe || this.#incidents >= max_incidents) this.#goOut(incident);
    else {
      const incidents = { err: incident, incidents: this.#incidents, out_at: max_incidents };
      this.#log.warn(incidents, 'the state store failed');
    }
    this.emit('failed');
  }

  #rejected(operation: StateOperation, error: CommandRejected): void {
    const now_ms = systemClock.elapsed_ms();
    const logged_ms = this.#rejected_ms.get(operation) ?? Number.NEGATIVE_INFINITY;
    if (now_ms - logged_ms < rejected_log_ms) return;
    this.#rejected_ms.set(operation, now_ms);
    this.#log.error({ err: error, operation }, 'the state store rejected a command');
  }

  #goOut(cause: unknown): void {
    this.outage = { since_epoch_ms: this.#clock.epoch_ms(), cause };
    this.#metrics.breakerOpened('state');
    this.#health.out(true);
    this.emit('out', this.outage);
  }

  #close(): void {
    if (this.closed) return;
    const outage = this.outage;
    this.closed = true;
    this.outage = undefined;
    this.#incidents = 0;
    this.#health.out(false);
    this.emit('closed', outage);
  }
}
