/** How waiting for a permit ended: with one, by its time limit, or by being cancelled. */
type QueueOutcome = 'entered' | 'late' | 'left';

/** How many attempts may run, and how many may wait. */
interface BulkheadLimits {
  readonly max_concurrent?: number | undefined;
  readonly max_queue: number;
}

/**
 * Permits for the attempts at one provider, with a bounded queue, first come first served. Not cockatiel's bulkhead: its queue has no time
 * limit, and lets a newcomer pass those who wait.
 */
export class Bulkhead {
  /** Attempts that run. */
  in_flight = 0;
  #max_concurrent = Number.POSITIVE_INFINITY;
  #max_queue = 0;
  readonly #queue = new Set<(outcome: QueueOutcome) => void>();

  /** Limits of running and of waiting attempts. */
  constructor(limits: BulkheadLimits) {
    this.configure(limits);
  }

  /** Replaces the limits. Permits in use stay in use; those who wait for one that is free now get it. */
  configure({ max_concurrent = Number.POSITIVE_INFINITY, max_queue }: BulkheadLimits): void {
    this.#max_concurrent = max_concurrent;
    this.#max_queue = max_queue;
    for (const next of [...this.#queue]) {
      if (this.in_flight >= max_concurrent) return;
      this.in_flight++;
      next('entered');
    }
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** True if a permit is free and no attempt waits for it. */
  get hasPermit(): boolean {
    return this.in_flight < this.#max_concurrent && this.#queue.size === 0;
  }

  get hasQueueRoom(): boolean {
    return this.#queue.size < this.#max_queue;
  }

  /** Takes a permit, even above `max_concurrent`; it must be released once. */
  acquire(): void {
    this.in_flight++;
  }

  /** Hands a permit to the one that has waited longest, or frees it. */
  release(): void {
    // Above a limit that was lowered it is freed.
    if (this.in_flight <= this.#max_concurrent) for (const next of this.#queue) return next('entered');
    this.in_flight--;
  }

  /** Waits for a permit, at most `limit_ms`. `cancel` stops waiting; a permit that was granted already must still be released. */
  wait(limit_ms: number): { readonly outcome: Promise<QueueOutcome>; cancel(): void } {
    const { promise: outcome, resolve } = Promise.withResolvers<QueueOutcome>();
    const end = (how: QueueOutcome) => {
      if (!this.#queue.delete(end)) return;
      clearTimeout(timer);
      resolve(how);
    };
    const timer = setTimeout(end, limit_ms, 'late').unref();
    this.#queue.add(end);
    return { outcome, cancel: () => end('left') };
  }
}
