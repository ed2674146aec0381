/** A change that has lasted. */
export interface SteadyChange {
  readonly isOut: boolean;
  /** Since when it has been so. */
  readonly since_ms: number;
  /** Nothing is known of before: the process has begun. */
  readonly isFirst: boolean;
}

/** Whether something is out, once it has been so for a while: what comes and goes meanwhile changes nothing. */
export class SteadyState {
  #isOut: boolean | undefined;
  /** Since when it has been seen otherwise than it counts. */
  #other_ms: number | undefined;

  /** Notes what is seen. Returns the change if it has lasted for `steady_ms` now. */
  see(isOut: boolean, now_ms: number, steady_ms: number): SteadyChange | undefined {
    if (isOut === this.#isOut) {
      this.#other_ms = undefined;
      return undefined;
    }
    // Before anything is known, what counts is the last that was seen.
    if (this.#isOut === undefined && this.#seen !== isOut) this.#other_ms = undefined;
    this.#seen = isOut;
    const since_ms = (this.#other_ms ??= now_ms);
    if (now_ms - since_ms < steady_ms) return undefined;
    const isFirst = this.#isOut === undefined;
    this.#isOut = isOut;
    this.#other_ms = undefined;
    return { isOut, since_ms, isFirst };
  }

  #seen: boolean | undefined;
}
