import type { Model } from '../../catalog/catalog.ts';
import type { ChatRequest } from '../../exchange/canonical.ts';
import type { Target } from '../adapter.ts';
import type { Failure } from '../attempt/attempt-failure.ts';
import type { Provider } from '../http/provider.ts';
import { bitsOf } from './affinity-key.ts';

/** The time in which a sample's weight falls to a third. */
const memory_ms = 10_000;
/** An older average says nothing of the upstream now. */
const stale_ms = 30_000;

/** The longest `Retry-After` that is followed. */
const max_pause_ms = 600_000;
/** The pause of an upstream that is at its rate limit and sends no `Retry-After`. */
const limited_pause_ms = 1000;
/** The pause of an upstream that does not accept its key, address or model name: an operator has to change something. */
const misconfigured_pause_ms = 30_000;
/** Added to the latency of a failed attempt: what the failure costs its client beyond the time that it took. */
const failure_penalty_ms = 1000;

/** What operators have set of a provider while the gateway serves. */
export interface UpstreamControl {
  /** `paused`: no attempt begins there. `draining`: none of a new request. */
  readonly state: 'active' | 'paused' | 'draining';
  /** In place of the weights of the configuration; above 0. */
  readonly weight?: number | undefined;
  /** Whether a draining provider goes on with a conversation, by its affinity key; `isContinued` if this is not its first request. */
  keeps?(conversation: number, isContinued: boolean): boolean;
}

/** The time for which an upstream is left alone, and whether its options are why. */
interface Pause {
  until_ms: number;
  is_misconfigured: boolean;
}

/** How much an upstream may be asked. */
export interface UpstreamQuota {
  /** Milliseconds until a request is within it; 0: now. */
  free_in_ms(): number;
  /** Counts a request that is sent now. What it returns counts, once, what the request has used. */
  take(request: ChatRequest | undefined): (requests: 0 | 1, tokens: number) => void;
}

/** One upstream of a model: a provider, the model's name there, and its recent latency and pauses. */
export class Upstream {
  /** Name of the provider; empty for none. */
  readonly provider: Provider;
  /** What is asked for there. */
  readonly target: Target;
  /** Lower numbers are tried first. */
  readonly priority: number;
  /** Its share among equals, unless operators have set another. */
  readonly weight: number;
  /** What the provider is paid, if that is known. */
  readonly paid_prices?: Model['pricing'] | undefined;
  /** What operators have set; undefined for nothing. */
  control: UpstreamControl | undefined;
  /** How much it may be asked; undefined without limits. */
  readonly quota?: UpstreamQuota | undefined;
  /** For rendezvous hashing: the same in every process. */
  readonly seed: number;
  readonly #streams: Latency;
  readonly #replies: Latency;
  readonly #pause: Pause;

  /** Goes on with what `before` knows of the same model at the same server, unless its pause may be over with the provider's new options. */
  constructor(
    provider: Provider,
    target: Target,
    { priority, weight, paid_prices, quota }: Pick<Upstream, 'priority' | 'weight' | 'paid_prices' | 'quota'>,
    before?: Upstream,
  ) {
    this.provider = provider;
    this.target = target;
    this.priority = priority;
    this.weight = weight;
    this.paid_prices = paid_prices;
    this.quota = quota;
    this.seed = bitsOf(`${provider.name}\n${target.model}`);
    this.#streams = before ? before.#streams : new Latency();
    this.#replies = before ? before.#replies : new Latency();
    const isKept = before && (before.provider === provider || !before.#pause.is_misconfigured);
    this.#pause = isKept ? before.#pause : { until_ms: Number.NEGATIVE_INFINITY, is_misconfigured: false };
  }

  /** Milliseconds until it is usable; `Infinity` while its health check fails or it is paused. Permits are not considered. */
  usable_in_ms(now_ms: number): number {
    const { breaker, healthy } = this.provider;
    if (!healthy || this.control?.state === 'paused') return Number.POSITIVE_INFINITY;
    const paused_ms = Math.max(0, this.#pause.until_ms - now_ms, breaker.retry_in_ms);
    return this.quota ? Math.max(paused_ms, this.quota.free_in_ms()) : paused_ms;
  }

  /** Recent latency of streams or of whole replies, in milliseconds; `undefined` if unknown. */
  latency_ms(stream: boolean, now_ms: number): number | undefined {
    return (stream ? this.#streams : this.#replies).recent_ms(now_ms);
  }

  /** Records a success: a stream has begun, or a whole reply come, `wait_ms` after the request. */
  answered(stream: boolean, wait_ms: number, now_ms: number): void {
    (stream ? this.#streams : this.#replies).observe(wait_ms, now_ms);
  }

  /** Records an attempt that failed before it was answered. */
  failed(stream: boolean, failure: Failure, wait_ms: number, now_ms: number): void {
    this.answered(stream, wait_ms + failure_penalty_ms, now_ms);
    const pause_ms = pauseAfter_ms(failure);
    if (pause_ms <= 0) return;
    this.#pause.until_ms = Math.max(this.#pause.until_ms, now_ms + Math.min(pause_ms, max_pause_ms));
    this.#pause.is_misconfigured = failure.kind === 'misconfigured';
  }
}

function pauseAfter_ms({ kind, retry_after_s, another_key }: Failure): number {
  if (another_key) return 0;
  if (kind === 'misconfigured') return misconfigured_pause_ms;
  if (retry_after_s !== undefined) return retry_after_s * 1000;
  return kind === 'rate_limited' ? limited_pause_ms : 0;
}

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
