import type { Clock } from '../../../common/clock.ts';
import type { RoutingConfig } from '../../../common/options.ts';

type RetryBudgetLimits = Pick<RoutingConfig, 'retry_ratio' | 'min_retries_per_second'>;

/** Time for which a request counts: as long as requests that fail with a dying provider may have run. */
const window_ms = 30_000;

/**
 * Retry budget of a model: a share of its requests of the last half minute, and a few per second, so that retries do not overload a failing
 * upstream. Kept as one number that decays with time.
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

  /** Counts a request. */
  deposit(): void {
    this.#fade();
    this.#balance += this.#limits.retry_ratio;
  }

  get isSpent(): boolean {
    this.#fade();
    return this.#balance < 1;
  }

  /** Counts a retry. */
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
