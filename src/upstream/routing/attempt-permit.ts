import { type Failure, isProvidersFault } from '../attempt/failure.ts';
import type { Upstream } from './upstream.ts';

/** What an attempt holds of its upstream while it lasts: a place at the provider, and a say in what is thought of it. */
export class AttemptPermit {
  readonly upstream: Upstream;
  readonly #stream: boolean;
  readonly #begun_ms: number;
  readonly #term: number;
  #answered = false;
  /** The breaker knows already that the provider works. */
  #told = false;
  #ended = false;

  /** Takes a place. */
  static take(upstream: Upstream, stream: boolean, now_ms: number): AttemptPermit {
    upstream.provider.bulkhead.enter();
    return new AttemptPermit(upstream, stream, now_ms);
  }

  /** For a place that was waited for and is held already. */
  constructor(upstream: Upstream, stream: boolean, now_ms: number) {
    this.upstream = upstream;
    this.#stream = stream;
    this.#begun_ms = now_ms;
    this.#term = upstream.provider.breaker.enter();
  }

  /** The first word, or the whole reply, is there. */
  answered(now_ms: number): void {
    if (this.#answered) return;
    this.#answered = true;
    this.upstream.answered(this.#stream, now_ms - this.#begun_ms, now_ms);
    const { breaker } = this.upstream.provider;
    if (!breaker.isProbing || breaker.term !== this.#term) return;
    // A stream may last for minutes; that it has begun is enough to let others try.
    breaker.succeeded(this.#term);
    this.#told = true;
  }

  /** The attempt is over: well, with a failure, or given up from here. Gives the place back. */
  ended(end: Failure | 'given up' | undefined, now_ms: number): void {
    if (this.#ended) return;
    this.#ended = true;
    const { provider } = this.upstream;
    const { breaker } = provider;
    provider.bulkhead.leave();
    const failure = end === 'given up' ? undefined : end;
    // A refusal is an answer, and says nothing of how long answers take.
    if (failure && failure.kind !== 'refused' && !this.#answered)
      this.upstream.failed(this.#stream, failure, now_ms - this.#begun_ms, now_ms);
    if (failure && isProvidersFault(failure)) breaker.failed(this.#told ? breaker.term : this.#term);
    else if (this.#told) return;
    else if (this.#answered || end === undefined || failure?.kind === 'refused')
      breaker.succeeded(this.#term);
    else breaker.abandoned(this.#term);
  }
}
