import type { Clock } from '../../clock.ts';
import type { Hold, RemoteState } from './remote-state.ts';
import type { StoreCircuitBreaker } from './store-circuit-breaker.ts';

/** Renews the leases of this process in the store: one timer, one call for many. Without renewal for `lease_ms` they expire there. */
export class Leases {
  readonly #remote: RemoteState;
  readonly #breaker: StoreCircuitBreaker;
  readonly #clock: Clock;
  readonly #renew_ms: number;
  /** When each was last renewed. */
  readonly #held = new Map<Hold, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(remote: RemoteState, breaker: StoreCircuitBreaker, lease_ms: number, clock: Clock) {
    this.#remote = remote;
    this.#breaker = breaker;
    this.#clock = clock;
    this.#renew_ms = lease_ms / 3;
    // The store may have lost them.
    breaker.onClose(() => this.#renew(0));
  }

  hold(hold: Hold): void {
    this.#held.set(hold, hold.reserved_ms);
  }

  release(hold: Hold): void {
    this.#held.delete(hold);
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#renew(this.#renew_ms / 2), this.#renew_ms).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Renews leases whose last renewal is at least `since_ms` ago. */
  #renew(since_ms: number): void {
    if (!this.#breaker.closed) return;
    const now_ms = this.#clock.elapsed_ms();
    const due = [...this.#held].filter(([, renewed_ms]) => now_ms - renewed_ms >= since_ms);
    if (due.length === 0) return;
    const holds = due.map(([hold]) => hold);
    this.#breaker
      .call('renew', () => this.#remote.renew(holds))
      .then(
        () => {
          for (const hold of holds) if (this.#held.has(hold)) this.#held.set(hold, now_ms);
        },
        // Tried again at the next interval.
        () => {},
      );
  }
}
