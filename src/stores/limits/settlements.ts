import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { CannotServe, type RemoteState, type Settlement, TooLate, Unreachable } from './remote-state.ts';
import type { StoreCircuitBreaker } from './store-circuit-breaker.ts';

/** About 20 MB of them. */
const max_waiting = 65_536;
/** By how many that may be exceeded before the oldest are dropped, many at once, since each time the rest moves up. */
const dropped_at_once = 1024;
/** How many of those that have waited are under way together. */
const max_resent = 64;
/** How long those wait that have failed though the store is not out. */
const again_ms = 500;
/** What the store has refused so often it will never take. */
const max_attempts = 10;

interface Waiting {
  readonly settlement: Settlement;
  attempts: number;
}

/**
 * Sends settlements to the store. Those that it does not take wait, the last `max_waiting` of them, and are sent again: each counts once and
 * as of the moment at which it was settled. A dropped one leaves its reservation counted. Only the bound and what the store has rejected
 * again and again drops any: while the store is out, no attempt counts.
 */
export class Settlements {
  readonly #remote: RemoteState;
  readonly #circuit: StoreCircuitBreaker;
  readonly #metrics: StoreMetrics;
  readonly #log: Log;
  #waiting: Waiting[] = [];
  readonly #underWay = new Set<Promise<boolean>>();
  #resending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(remote: RemoteState, circuit: StoreCircuitBreaker, metrics: StoreMetrics, log: Log) {
    this.#remote = remote;
    this.#circuit = circuit;
    this.#metrics = metrics;
    this.#log = log;
    circuit.onClose(() => void this.resend());
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Never throws. */
  add(settlement: Settlement): void {
    const waiting = { settlement, attempts: 0 };
    if (this.#circuit.closed) void this.#sent(waiting);
    else this.#wait(waiting);
  }

  /** Sends nothing again by itself from now on. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Sends what waits until one of it fails. */
  resend(): Promise<void> {
    this.#resending ??= this.#resend().finally(() => {
      this.#resending = undefined;
    });
    return this.#resending;
  }

  /** Resolves when nothing is under way, and nothing waits that the store would take. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.resend();
  }

  async #resend(): Promise<void> {
    while (this.#waiting.length > 0 && this.#circuit.closed) {
      const some = this.#waiting.splice(0, max_resent);
      const taken = await Promise.all(some.map(waiting => this.#sent(waiting)));
      this.#metrics.settlementsWaiting(this.#waiting.length);
      if (taken.includes(false)) return;
    }
  }

  /** Whether the store has taken it. */
  #sent(waiting: Waiting): Promise<boolean> {
    const sent = this.#circuit
      .ask('settle', () => this.#remote.settle(waiting.settlement))
      .then(
        () => true,
        error => {
          if (!(error instanceof Unreachable || error instanceof CannotServe)) waiting.attempts++;
          if (error instanceof TooLate) this.#metrics.settlementsDropped(1, 'too_late');
          else if (waiting.attempts >= max_attempts) this.#metrics.settlementsDropped(1, 'rejected');
          else this.#wait(waiting);
          return false;
        },
      );
    this.#underWay.add(sent);
    void sent.then(() => this.#underWay.delete(sent));
    return sent;
  }

  #wait(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.resend();
    }, again_ms).unref();
    if (this.#waiting.length >= max_waiting + dropped_at_once) this.#dropOldest();
    this.#metrics.settlementsWaiting(this.#waiting.length);
  }

  #dropOldest(): void {
    const { length } = this.#waiting.splice(0, dropped_at_once);
    this.#metrics.settlementsDropped(length, 'queue_full');
    this.#log.error({ settlements: length, max_waiting }, 'the oldest waiting settlements were dropped');
  }
}
