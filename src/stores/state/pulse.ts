import type { Circuit } from './circuit.ts';
import type { RemoteState } from './remote-state.ts';

/** How often an instance gives a sign of life; the others divide by those of which they have heard within `instance_ms`. */
const pulse_ms = 5000;
export const instance_ms = 3 * pulse_ms;
/** How often a store that is out is asked whether it is back. */
const probe_ms = 500;

/** This instance's sign of life in the store, and at the same time the question whether the store is there. */
export class Pulse {
  readonly #remote: RemoteState;
  readonly #circuit: Circuit;
  readonly #onHeard: (instances: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(remote: RemoteState, circuit: Circuit, onHeard: (instances: number) => void) {
    this.#remote = remote;
    this.#circuit = circuit;
    this.#onHeard = onHeard;
    circuit.onOpen(() => this.#next(probe_ms));
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
      this.#onHeard(await this.#circuit.probe('pulse', () => this.#remote.pulse()));
    } catch {
      // The circuit counts failures and tells who must know.
      again_ms = probe_ms;
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
