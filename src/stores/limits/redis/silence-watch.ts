import { systemClock } from '../../../clock.ts';

/** A command that waits for its answer. */
export interface PendingCommand {
  readonly at_ms: number;
}

/**
 * Calls back when the oldest command on a connection has waited too long. Answers come in the order of the commands, so one timer is
 * enough for all.
 */
export class SilenceWatch {
  readonly #limit_ms: number;
  readonly #onSilence: (waited_ms: number) => void;
  readonly #waiting = new Set<PendingCommand>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limit_ms: number, onSilence: (waited_ms: number) => void) {
    this.#limit_ms = limit_ms;
    this.#onSilence = onSilence;
  }

  asked(): PendingCommand {
    const asked = { at_ms: systemClock.elapsed_ms() };
    this.#waiting.add(asked);
    if (!this.#timer) this.#look(this.#limit_ms);
    return asked;
  }

  answered(asked: PendingCommand): void {
    this.#waiting.delete(asked);
  }

  #look(after_ms: number): void {
    this.#timer = setTimeout(() => {
      // Timers run before sockets are read: after a long turn of this process the answer may be there unread.
      if (this.#left_ms() <= 0) setImmediate(() => this.#judge());
      else this.#judge();
    }, after_ms).unref();
  }

  #judge(): void {
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    const left_ms = this.#left_ms();
    if (left_ms > 0) this.#look(left_ms);
    else this.#onSilence(this.#limit_ms - left_ms);
  }

  /** How long the oldest may still wait. */
  #left_ms(): number {
    const [oldest] = this.#waiting;
    return oldest ? oldest.at_ms + this.#limit_ms - systemClock.elapsed_ms() : this.#limit_ms;
  }
}
