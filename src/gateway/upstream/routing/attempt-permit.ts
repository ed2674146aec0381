import type { ChatRequest } from '../../exchange/canonical.ts';
import { type Failure, isProvidersFault } from '../attempt/attempt-failure.ts';
import type { Upstream, UpstreamQuota } from './upstream.ts';

/** An attempt's concurrency permit, and its one report to the circuit breaker and the latency average. */
export class AttemptPermit {
  readonly upstream: Upstream;
  readonly #stream: boolean;
  readonly #begun_ms: number;
  /** Counts what the attempt has used of its upstream's quota. */
  readonly used: ReturnType<UpstreamQuota['take']> | undefined;
  readonly #term: number;
  #answered = false;
  /** True once the success was reported to the breaker. */
  #reported = false;
  #ended = false;

  /** Acquires a permit of the upstream's provider. */
  static acquire(upstream: Upstream, request: ChatRequest | undefined, now_ms: number): AttemptPermit {
    upstream.provider.bulkhead.acquire();
    return new AttemptPermit(upstream, request, now_ms);
  }

  /** Wraps a permit that is held already, such as one that was waited for. */
  constructor(upstream: Upstream, request: ChatRequest | undefined, now_ms: number) {
    this.upstream = upstream;
    this.used = upstream.quota?.take(request);
    this.#stream = request?.stream === true;
    this.#begun_ms = now_ms;
    this.#term = upstream.provider.breaker.begin();
  }

  /** Reports success to the breaker and the latency average: the first word, or the whole reply, has arrived. */
  answered(now_ms: number): void {
    if (this.#answered) return;
    this.#answered = true;
    this.upstream.answered(this.#stream, now_ms - this.#begun_ms, now_ms);
    const { breaker } = this.upstream.provider;
    if (!breaker.isProbing || breaker.term !== this.#term) return;
    // A stream may last for minutes; that it has begun is enough to let others try.
    breaker.succeeded(this.#term);
    this.#reported = true;
  }

  /** Releases the permit and reports how the attempt ended: well, with a failure, or aborted by the gateway. */
  ended(end: Failure | 'given up' | undefined, now_ms: number): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, bulkhead } = this.upstream.provider;
    bulkhead.release();
    // A connection that was closed while it was kept says nothing of the provider.
    const isSilent = end === 'given up' || end?.kind === 'stale_connection';
    const failure = isSilent ? undefined : end;
    // A refusal is an answer, and says nothing of how long answers take.
    if (failure && failure.kind !== 'refused' && !this.#answered)
      this.upstream.failed(this.#stream, failure, now_ms - this.#begun_ms, now_ms);
    if (failure && isProvidersFault(failure)) breaker.failed(this.#reported ? breaker.term : this.#term);
    else if (this.#reported) return;
    else if (this.#answered || end === undefined || failure?.kind === 'refused')
      breaker.succeeded(this.#term);
    else breaker.abandoned(this.#term);
  }
}
