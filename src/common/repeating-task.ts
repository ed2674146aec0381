/**
 * Work that is done again and again, one run at a time: a flush, a poll, a heartbeat. Its timer does not keep the process alive. `work` never
 * rejects; it resolves with the milliseconds until the next run, or `undefined` if none is due.
 */
export class RepeatingTask {
  readonly #work: () => Promise<number | undefined>;
  #timer: NodeJS.Timeout | undefined;
  /** When the next run is due, on `performance.now()`. */
  #due_ms = Number.POSITIVE_INFINITY;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(work: () => Promise<number | undefined>) {
    this.#work = work;
  }

  /** Whether a run is in progress. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Runs in `wait_ms` unless a run is due sooner. Follows a run in progress, which may have missed the reason for this one. */
  runIn(wait_ms: number): void {
    const due_ms = performance.now() + wait_ms;
    if (due_ms >= this.#due_ms) return;
    this.#due_ms = due_ms;
    if (!this.#running) this.#arm();
  }

  /** Runs now, also when closed, and resolves at the end of that run or of the one in progress. */
  run(): Promise<void> {
    this.#running ??= this.#runOnce();
    return this.#running;
  }

  /** Resolves at the end of the run in progress; none begins by itself afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #runOnce(): Promise<void> {
    clearTimeout(this.#timer);
    this.#due_ms = Number.POSITIVE_INFINITY;
    const wait_ms = (await this.#work()) ?? Number.POSITIVE_INFINITY;
    this.#running = undefined;
    this.#due_ms = Math.min(this.#due_ms, performance.now() + wait_ms);
    if (this.#due_ms < Number.POSITIVE_INFINITY) this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.run(), Math.max(0, this.#due_ms - performance.now())).unref();
  }
}
