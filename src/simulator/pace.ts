/** An object that is called at a time. */
export interface Paced {
  /** Kept by Pace: the slot it waits in, -1 for none. */
  slot: number;
  due(): void;
}

/** Length of a slot. All streams due within one slot share a wake-up: fine enough for 500 tokens per second and stream. */
const SLOT_MS = 2;

/** One timer for any number of streams: calls each at its time, never early, in the order of slots. */
export class Pace {
  #slots = new Map<number, Set<Paced>>();
  #next = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Milliseconds on a clock that never jumps; what `due_ms` is measured on. */
  now(): number {
    return performance.now();
  }

  /** Calls `paced.due()` once at `due_ms`, instead of at an earlier requested time. */
  schedule(paced: Paced, due_ms: number): void {
    this.cancel(paced);
    if (this.#timer === undefined) this.#next = Math.floor(this.now() / SLOT_MS) + 1;
    paced.slot = Math.max(Math.ceil(due_ms / SLOT_MS), this.#next);
    const waiting = this.#slots.get(paced.slot);
    if (waiting) waiting.add(paced);
    else this.#slots.set(paced.slot, new Set([paced]));
    this.#arm();
  }

  /** Cancels the call of an object; harmless if it is not waiting. */
  cancel(paced: Paced): void {
    if (paced.slot < 0) return;
    const waiting = this.#slots.get(paced.slot);
    waiting?.delete(paced);
    if (waiting?.size === 0) this.#slots.delete(paced.slot);
    paced.slot = -1;
  }

  /** Cancels all calls. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#slots.clear();
  }

  #arm(): void {
    this.#timer ??= setTimeout(() => this.#tick(), Math.max(1, Math.ceil(this.#next * SLOT_MS - this.now())));
  }

  #tick(): void {
    const current = Math.floor(this.now() / SLOT_MS);
    while (this.#next <= current) {
      const slot = this.#next++;
      const waiting = this.#slots.get(slot);
      this.#slots.delete(slot);
      for (const paced of waiting ?? []) {
        // One that was due in the same slot may have cancelled this one.
        if (paced.slot !== slot) continue;
        paced.slot = -1;
        paced.due();
      }
    }
    this.#timer = undefined;
    if (this.#slots.size > 0) this.#arm();
  }
}
