import type { Clock } from '../../clock.ts';
import type { Hold, RemoteState } from './remote-state.ts';
import type { StoreCircuitBreaker } from './store-circuit-breaker.ts';

/**
 * Keeps alive in the store what this process holds there: one timer, one call for many. What is not renewed for `lease_ms`, since its process
 * has died, ends there by itself.
 */
export class Leases {
  readonly #remote: RemoteState;
  readonly #circuit: StoreCircuitBreaker;
  readonly #clock: Clock;
  readonly #renew_ms: number;
  /** When each was last renewed. */
  readonly #held = new Map<Hold, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(remote: RemoteState, circuit: StoreCircuitBreaker, lease_ms: number, clock: Clock) {
    this.#remote = remote;
    this.#circuit = circuit;
    this.#clock = clock;
    this.#renew_ms = lease_ms / 3;
    // The store may have come back without them.
    circuit.onClose(() => this.#renew(0));
  }

  hold(hold: Hold): void {
    this.#held.set(hold, hold.taken_ms);
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

  /** Renews what has not been for so long. */
  #renew(since_ms: number): void {
    if (!this.#circuit.closed) return;
    const now_ms = this.#clock.elapsed_ms();
    const due = [...this.#held].filter(([, renewed_ms]) => now_ms - renewed_ms >= since_ms);
    if (due.length === 0) return;
    const holds = due.map(([hold]) => hold);
    this.#circuit
      .ask('renew', () => this.#remote.renew(holds))
      .then(
        () => {
          for (const hold of holds) if (this.#held.has(hold)) this.#held.set(hold, now_ms);
        },
        // The next turn tries again.
        () => {},
      );
  }
}
