import type { RemoteState } from './remote-state.ts';
import type { StoreCircuitBreaker } from './store-circuit-breaker.ts';

/** How often an instance gives a sign of life; the others divide by those of which they have heard within `instance_ms`. */
const pulse_ms = 5000;
export const instance_ms = 3 * pulse_ms;
/** How often a store that is out is asked whether it is back. */
const probe_ms = 500;
/** How soon it is asked after a failure that need not be an outage: about as long as a connection takes to be made anew. */
const retry_ms = 100;

/** Heartbeat of this instance: a write that the other instances count, and that closes the circuit breaker when it succeeds. */
export class Heartbeat {
  readonly #remote: RemoteState;
  readonly #circuit: StoreCircuitBreaker;
  readonly #onHeard: (instances: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(remote: RemoteState, circuit: StoreCircuitBreaker, onHeard: (instances: number) => void) {
    this.#remote = remote;
    this.#circuit = circuit;
    this.#onHeard = onHeard;
    circuit.onFailure(() => this.#next(retry_ms));
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
    let again_ms = pulse_ms;
    try {
      this.#onHeard(await this.#circuit.probe('heartbeat', () => this.#remote.pulse()));
    } catch {
      // The circuit counts failures and tells who must know.
      again_ms = this.#circuit.isOut ? probe_ms : retry_ms;
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
