import type { RemoteState } from './remote-state.ts';
import type { StoreCircuitBreaker } from './store-circuit-breaker.ts';

/** Interval of an instance's heartbeat. Limits are divided by the instances whose heartbeat is younger than `instance_ms`. */
const heartbeat_ms = 5000;
export const instance_ms = 3 * heartbeat_ms;
/** Interval of probes while the store is out. */
const probe_ms = 500;
/** Delay of the probe after a failure that may not be an outage: about the time of a new connection. */
const retry_ms = 100;

/** Writes this instance's heartbeat, which other instances count; the circuit breaker closes when it succeeds. */
export class Heartbeat {
  readonly #remote: RemoteState;
  readonly #breaker: StoreCircuitBreaker;
  readonly #onHeard: (instances: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(remote: RemoteState, breaker: StoreCircuitBreaker, onHeard: (instances: number) => void) {
    this.#remote = remote;
    this.#breaker = breaker;
    this.#onHeard = onHeard;
    breaker.onFailure(() => this.#next(retry_ms));
  }

  /** Resolves when the store has answered for the first time, or has failed to. */
  start(): Promise<void> {
    return this.#beat();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #beat(): Promise<void> {
    let again_ms = heartbeat_ms;
    try {
      this.#onHeard(await this.#breaker.probe('heartbeat', () => this.#remote.heartbeat()));
    } catch {
      // The circuit breaker has counted the failure.
      again_ms = this.#breaker.isOut ? probe_ms : retry_ms;
    }
    this.#next(again_ms);
  }

  #next(after_ms: number): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#beat(), after_ms);
    this.#timer.unref();
  }
}
