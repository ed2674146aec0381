import type { Clock } from '../../src/common/clock.ts';

/** Noon of a day in the middle of a month, in UTC. */
export const noon_ms = Date.UTC(2026, 10, 21, 12);

/** Time that passes only when a test says so. */
export class FakeClock implements Clock {
  #passed_ms = 0;
  #began_ms: number;

  constructor(began_ms = noon_ms) {
    this.#began_ms = began_ms;
  }

  epoch_ms(): number {
    return this.#began_ms + this.#passed_ms;
  }

  /** From what a process may be old when a test begins: 0 is the time of nothing. */
  elapsed_ms(): number {
    return 5000 + this.#passed_ms;
  }

  advance(ms: number): void {
    this.#passed_ms += ms;
  }

  /** Sets the time of day, by milliseconds that have not passed. */
  set(by_ms: number): void {
    this.#began_ms += by_ms;
  }
}
