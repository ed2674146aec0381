/** A clock, injected so that tests need not wait. */
export interface Clock {
  /** Milliseconds since 1970, for people and ledgers. */
  epoch_ms(): number;
  /** Milliseconds that never run backwards, for durations. */
  elapsed_ms(): number;
}

/** Bound, because nearly every event of a stream reads it twice. */
export const systemClock: Clock = { epoch_ms: Date.now, elapsed_ms: performance.now.bind(performance) };
