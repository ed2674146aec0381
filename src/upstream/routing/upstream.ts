import type { Target } from '../adapter.ts';
import type { Failure } from '../attempt/failure.ts';
import type { Provider } from '../http/provider.ts';
import { bitsOf } from './affinity-key.ts';
import type { Candidate } from './choose-upstream.ts';
import { Latency } from './latency.ts';

/** How an upstream stands among those of its model. */
export interface Standing {
  /** Lower numbers are asked first. */
  readonly priority: number;
  readonly weight: number;
}

/** The longest time for which an upstream's `Retry-After` is believed. */
const max_pause_ms = 600_000;
/** How long an upstream is left alone that is at its rate limit and does not say for how long. */
const limited_pause_ms = 1000;
/** How long one is left alone whose key, address or model name it does not accept: somebody has to change something. */
const misconfigured_pause_ms = 30_000;
/** A failed attempt has cost its client more than the time that it took. */
const failure_penalty_ms = 1000;

/** One of those who serve a model: a provider, what the model is called there, and how it has done of late. */
export class Upstream {
  readonly provider: Provider;
  readonly target: Target;
  readonly standing: Standing;
  /** For conversations that stay where they were: the same in every process. */
  readonly seed: number;
  readonly #streams = new Latency();
  readonly #replies = new Latency();
  #paused_until_ms = Number.NEGATIVE_INFINITY;

  constructor(provider: Provider, target: Target, standing: Standing) {
    this.provider = provider;
    this.target = target;
    this.standing = standing;
    this.seed = bitsOf(`${provider.name}\n${target.model}`);
  }

  /** How long until it may be asked, in milliseconds: 0 for now, infinite while its health check fails. Places are not looked at. */
  usable_in_ms(now_ms: number): number {
    const { breaker, healthy } = this.provider;
    if (!healthy) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#paused_until_ms - now_ms, breaker.admits_in_ms);
  }

  /** It as a choice sees it, for streams or for whole replies: the two take their time in different ways. */
  candidate(stream: boolean, now_ms: number): Candidate & { readonly upstream: Upstream } {
    return {
      upstream: this,
      seed: this.seed,
      weight: this.standing.weight,
      in_flight: this.provider.bulkhead.in_flight,
      latency_ms: (stream ? this.#streams : this.#replies).recent_ms(now_ms),
    };
  }

  /** It has begun to answer, or answered whole, `wait_ms` after it was asked. */
  answered(stream: boolean, wait_ms: number, now_ms: number): void {
    (stream ? this.#streams : this.#replies).observe(wait_ms, now_ms);
  }

  /** It has failed before it answered. */
  failed(stream: boolean, failure: Failure, wait_ms: number, now_ms: number): void {
    (stream ? this.#streams : this.#replies).observe(wait_ms + failure_penalty_ms, now_ms);
    const pause_ms = pauseAfter_ms(failure);
    if (pause_ms > 0)
      this.#paused_until_ms = Math.max(this.#paused_until_ms, now_ms + Math.min(pause_ms, max_pause_ms));
  }
}

function pauseAfter_ms({ kind, retry_after_s, another_key }: Failure): number {
  if (another_key) return 0;
  if (kind === 'misconfigured') return misconfigured_pause_ms;
  if (retry_after_s !== undefined) return retry_after_s * 1000;
  return kind === 'rate_limited' ? limited_pause_ms : 0;
}
