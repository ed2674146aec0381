/** The time in which a sample's weight falls to a third. */
const memory_ms = 10_000;
/** An older average says nothing of the upstream now. */
const stale_ms = 30_000;

/** Recent latency of an upstream: an average that fades with time, not with the number of samples. */
export class Latency {
  #average_ms = 0;
  #at_ms = Number.NEGATIVE_INFINITY;

  observe(value_ms: number, now_ms: number): void {
    const age_ms = now_ms - this.#at_ms;
    const kept = age_ms > stale_ms ? 0 : Math.exp(-age_ms / memory_ms);
    this.#average_ms = kept * this.#average_ms + (1 - kept) * value_ms;
    this.#at_ms = now_ms;
  }

  /** The average in milliseconds; `undefined` if stale. */
  recent_ms(now_ms: number): number | undefined {
    return now_ms - this.#at_ms > stale_ms ? undefined : this.#average_ms;
  }
}
