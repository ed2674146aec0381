import {
  CircuitState,
  ConsecutiveBreaker,
  CountBreaker,
  ExponentialBackoff,
  halfJitterGenerator,
  type IBackoff,
  type IBreaker,
} from 'cockatiel';
import type { Clock } from '../../../common/clock.ts';
import type { ProviderConfig } from '../../../common/options.ts';

export type BreakerConfig = ProviderConfig['breaker'];
export type BreakerState = 'closed' | 'open' | 'half_open';

/** A provider's share right after its breaker has closed. */
const first_share = 0.1;
/** Retry interval while all probes are running: they decide. */
const probing_ms = 1000;

/**
 * Circuit breaker of a provider. cockatiel decides when it opens and for how long. cockatiel's policy is not used: it makes further calls
 * wait for a probe instead of going to another provider, judges every call by its end where a stream is judged by its first word, and
 * counts calls that their client gave up.
 *
 * Every attempt has a term, the number of the state in which it began; its result counts only while that state lasts.
 */
export class CircuitBreaker {
  #config: BreakerConfig;
  readonly #clock: Clock;
  #onChange: (state: BreakerState) => void;
  #criteria: readonly IBreaker[];
  #state: BreakerState = 'closed';
  #term = 0;
  #backoff: IBackoff<unknown> | undefined;
  #open_until_ms = 0;
  #closed_ms = Number.NEGATIVE_INFINITY;
  #probing = 0;
  #passed = 0;

  constructor(config: BreakerConfig, clock: Clock, onChange: (state: BreakerState) => void = () => {}) {
    this.#config = config;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#criteria = criteriaOf(config);
  }

  /** Replaces the options. Its state and running attempts stay; what was counted stays if the options that it is judged by do. */
  configure(config: BreakerConfig, onChange: (state: BreakerState) => void): void {
    const before = this.#config;
    this.#config = config;
    this.#onChange = onChange;
    const isJudgedAlike = (['consecutive_failures', 'failure_ratio', 'window'] as const).every(
      option => config[option] === before[option],
    );
    if (!isJudgedAlike) this.#criteria = criteriaOf(config);
  }

  /** An open breaker whose time is over is half open, also before the first probe. */
  get state(): BreakerState {
    return this.#state === 'open' && this.#clock.elapsed_ms() >= this.#open_until_ms
      ? 'half_open'
      : this.#state;
  }

  /** Milliseconds until an attempt may begin; 0: now. */
  get retry_in_ms(): number {
    if (this.#state === 'closed') return 0;
    if (this.#state === 'open') return Math.max(0, this.#open_until_ms - this.#clock.elapsed_ms());
    const max_probing = Math.min(1 + this.#passed, this.#config.probes - this.#passed);
    return this.#probing < max_probing ? 0 : probing_ms;
  }

  /** The share of its requests that the provider should get: less than 1 for `ramp_ms` after a recovery. */
  get share(): number {
    const { ramp_ms } = this.#config;
    const closed_for_ms = this.#clock.elapsed_ms() - this.#closed_ms;
    if (this.#state !== 'closed' || closed_for_ms >= ramp_ms) return 1;
    return first_share + (1 - first_share) * (closed_for_ms / ramp_ms);
  }

  /** The current term, for results that come after an attempt was reported. */
  get term(): number {
    return this.#term;
  }

  /** True while attempts are probes: their first word decides, not their end. */
  get isProbing(): boolean {
    return this.#state !== 'closed';
  }

  /** Notes the beginning of an attempt and returns its term. */
  begin(): number {
    if (this.state === 'half_open') {
      if (this.#state === 'open') this.#become('half_open');
      this.#probing++;
    }
    return this.#term;
  }

  /** Reports that an attempt of `term` has shown that the provider works. */
  succeeded(term: number): void {
    if (term !== this.#term) return;
    if (this.#state === 'closed') {
      for (let at = 0; at < this.#criteria.length; at++) this.#criteria[at]!.success(CircuitState.Closed);
      return;
    }
    // The attempt was made although the breaker was open, and was answered.
    if (this.#state === 'open') {
      this.#become('half_open');
      this.#probing = 1;
    }
    this.#probing--;
    this.#passed++;
    if (this.#passed >= this.#config.probes) this.#close();
  }

  /** Reports that an attempt of `term` has shown that the provider does not work. */
  failed(term: number): void {
    if (term !== this.#term || this.#state === 'open') return;
    if (this.#state === 'half_open') return this.#open();
    // Every criterion has to count the failure, so no `some`.
    const opens = this.#criteria.map(criterion => criterion.failure(CircuitState.Closed));
    if (opens.includes(true)) this.#open();
  }

  /** Reports that an attempt of `term` has ended without a result. */
  abandoned(term: number): void {
    if (term === this.#term && this.#state === 'half_open') this.#probing--;
  }

  /** Probes the provider without further waiting, because it was seen to work elsewhere. */
  retryNow(): void {
    if (this.#state === 'open') this.#open_until_ms = 0;
  }

  #open(): void {
    const { open_ms, max_open_ms } = this.#config;
    const options = { initialDelay: open_ms, maxDelay: max_open_ms, generator: halfJitterGenerator };
    this.#backoff = (this.#backoff ?? new ExponentialBackoff(options)).next(undefined as never);
    this.#open_until_ms = this.#clock.elapsed_ms() + this.#backoff.duration;
    this.#become('open');
  }

  #close(): void {
    for (const criterion of this.#criteria) criterion.success(CircuitState.HalfOpen);
    this.#backoff = undefined;
    this.#closed_ms = this.#clock.elapsed_ms();
    this.#become('closed');
  }

  #become(state: BreakerState): void {
    this.#state = state;
    this.#term++;
    this.#probing = 0;
    this.#passed = 0;
    this.#onChange(state);
  }
}

function criteriaOf({ consecutive_failures, failure_ratio, window }: BreakerConfig): readonly IBreaker[] {
  const criteria: IBreaker[] = [];
  if (consecutive_failures > 0) criteria.push(new ConsecutiveBreaker(consecutive_failures));
  if (failure_ratio < 1) {
    const minimumNumberOfCalls = Math.ceil(window / 2);
    criteria.push(new CountBreaker({ threshold: failure_ratio, size: window, minimumNumberOfCalls }));
  }
  return criteria;
}
