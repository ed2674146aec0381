/** How many attempts a provider is given at a time. */
export interface BulkheadLimits {
  readonly max_concurrent?: number | undefined;
  readonly max_queue: number;
}

/** What became of waiting for a place: it was given, its time was over, or nobody wants it any longer. */
export type Waited = 'entered' | 'late' | 'left';

/** One who waits for a place. */
export interface Waiting {
  readonly outcome: Promise<Waited>;
  /** Ends the waiting; a place that was given meanwhile is given back by whoever holds it. */
  leave(): void;
}

/** The places of one provider: how many are taken, and a bounded queue for them, first come first served. */
export class Bulkhead {
  /** Attempts under way. */
  in_flight = 0;
  readonly #max_concurrent: number;
  readonly #max_queue: number;
  readonly #queue = new Set<(waited: Waited) => void>();

  constructor({ max_concurrent, max_queue }: BulkheadLimits) {
    this.#max_concurrent = max_concurrent ?? Number.POSITIVE_INFINITY;
    this.#max_queue = max_queue;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** A place is free, and nobody waits for it. */
  get hasPlace(): boolean {
    return this.in_flight < this.#max_concurrent && this.#queue.size === 0;
  }

  get hasQueuePlace(): boolean {
    return this.#queue.size < this.#max_queue;
  }

  /** Takes a place. Whoever does gives it back with `leave`, once. */
  enter(): void {
    this.in_flight++;
  }

  /** Gives a place back, to the one who has waited longest. */
  leave(): void {
    for (const next of this.#queue) return next('entered');
    this.in_flight--;
  }

  /** Waits for a place, at most `limit_ms`. */
  wait(limit_ms: number): Waiting {
    let leave!: () => void;
    const outcome = new Promise<Waited>(resolve => {
      const end = (waited: Waited) => {
        if (!this.#queue.delete(end)) return;
        clearTimeout(timer);
        resolve(waited);
      };
      const timer = setTimeout(() => end('late'), limit_ms).unref();
      this.#queue.add(end);
      leave = () => end('left');
    });
    return { outcome, leave };
  }
}
