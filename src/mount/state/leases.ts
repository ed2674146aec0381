import type { Clock } from '../../common/clock.ts';
import { RepeatingTask } from '../../common/repeating-task.ts';
import type { Hold, RemoteState } from '../../records/remote-state.ts';
import type { CircuitBreakers, StoreCircuitBreaker } from './store-circuit-breaker.ts';

/** Renews the leases of this process in the store, many with one call. Without renewal for `lease_ms` they expire there. */
export class Leases {
  readonly #remote: RemoteState;
  readonly #breakers: CircuitBreakers;
  readonly #clock: Clock;
  readonly #renew_ms: number;
  /** When each was last renewed. */
  readonly #held = new Map<Hold, number>();
  readonly #task = new RepeatingTask(async () => {
    await this.#renew(this.#renew_ms / 2);
    return this.#held.size > 0 ? this.#renew_ms : undefined;
  });

  constructor(remote: RemoteState, breakers: CircuitBreakers, lease_ms: number, clock: Clock) {
    this.#remote = remote;
    this.#breakers = breakers;
    this.#clock = clock;
    this.#renew_ms = lease_ms / 3;
    // The store may have lost them.
    breakers.on('closed', () => void this.#renew(0));
  }

  hold(hold: Hold): void {
    this.#held.set(hold, hold.reserved_ms);
    this.#task.runIn(this.#renew_ms);
  }

  release(hold: Hold): void {
    this.#held.delete(hold);
  }

  stop(): void {
    void this.#task.close();
  }

  /** Renews leases whose last renewal is at least `since_ms` ago. Never rejects: what fails is tried again in the next run. */
  async #renew(since_ms: number): Promise<void> {
    const now_ms = this.#clock.elapsed_ms();
    const due = [...this.#held].filter(([, renewed_ms]) => now_ms - renewed_ms >= since_ms);
    if (due.length === 0) return;
    const byServer = Map.groupBy(
      due.map(([hold]) => hold),
      ({ request }) => this.#breakers.of(request.account),
    );
    await Promise.all([...byServer].map(([breaker, holds]) => this.#renewAt(breaker, holds, now_ms)));
  }

  async #renewAt(breaker: StoreCircuitBreaker, holds: readonly Hold[], now_ms: number): Promise<void> {
    await breaker
      .call('renew', () => this.#remote.renew(holds))
      .then(
        () => {
          for (const hold of holds) if (this.#held.has(hold)) this.#held.set(hold, now_ms);
        },
        () => {},
      );
  }
}
