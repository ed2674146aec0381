import type { Clock } from '../common/clock.ts';
import type { Log } from './log.ts';

/** Time between two lines of a kind. */
const line_ms = 10_000;

/** Logs one line of each kind in ten seconds at most; the next one has the number of those left out. The number of kinds is bounded by the caller. */
export class ThrottledLog<Kind extends string> {
  readonly #clock: Clock;
  readonly #kinds = new Map<Kind, { due_ms: number; left_out: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(
    kind: Kind,
    log: Log,
    level: 'error' | 'warn' | 'info' | 'debug',
    fields: object,
    message: string,
  ): void {
    const now_ms = this.#clock.elapsed_ms();
    const { due_ms, left_out } = this.#kinds.get(kind) ?? { due_ms: now_ms, left_out: 0 };
    if (now_ms < due_ms) {
      this.#kinds.set(kind, { due_ms, left_out: left_out + 1 });
      return;
    }
    this.#kinds.set(kind, { due_ms: now_ms + line_ms, left_out: 0 });
    log[level]({ ...fields, ...(left_out > 0 && { left_out }) }, message);
  }
}
