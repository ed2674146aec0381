import type { Clock } from '../../clock.ts';

export interface RetryBudgetLimits {
  /** Retries for each request. */
  readonly retry_ratio: number;
  /** Retries per second beside those, so that a quiet model has some. */
  readonly min_retries_per_second: number;
}

/** How long a request counts: as long as the requests that fail with a dying provider may have been under way. */
const window_ms = 30_000;

/**
 * How many attempts may follow failed ones: a share of the requests of the last half minute and a few per second, so that a failing
 * upstream is not buried under repetitions of what it cannot do. One number that fades with time.
 */
export class RetryBudget {
  readonly #limits: RetryBudgetLimits;
  readonly #clock: Clock;
  #balance: number;
  #at_ms: number;

  constructor(limits: RetryBudgetLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#balance = this.#reserve;
    this.#at_ms = clock.elapsed_ms();
  }

  /** A request has come. */
  deposit(): void {
    this.#fade();
    this.#balance += this.#limits.retry_ratio;
  }

  get isSpent(): boolean {
    this.#fade();
    return this.#balance < 1;
  }

  /** One retry is made. */
  spend(): void {
    this.#balance--;
  }

  get #reserve(): number {
    return (this.#limits.min_retries_per_second * window_ms) / 1000;
  }

  #fade(): void {
    const now_ms = this.#clock.elapsed_ms();
    const kept = Math.exp((this.#at_ms - now_ms) / window_ms);
    this.#balance = this.#balance * kept + this.#reserve * (1 - kept);
    this.#at_ms = now_ms;
  }
}
