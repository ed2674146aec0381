import type { DeniedRetry } from '../../../telemetry/routing-metrics.ts';
import { markEvent } from '../../../telemetry/tracing.ts';
import type { Chunk, Completion } from '../../exchange/canonical.ts';
import { GatewayError, refusal } from '../../exchange/errors.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { withoutPrompt } from '../../exchange/prompt-filter.ts';
import type { ChunkSource } from '../../exchange/stream.ts';
import { AttemptPermit } from '../routing/attempt-permit.ts';
import type { LoadBalancer } from '../routing/load-balancer.ts';
import { NoUpstreamAvailable, type RouterSetup, UpstreamSelector } from '../routing/upstream-selector.ts';
import { Attempt } from './attempt.ts';
import { AttemptFailed, causeOf, type Failure, isRetryable } from './attempt-failure.ts';
import { AttemptStream } from './attempt-stream.ts';

/** Chunks without content that may wait for the first with content, while a retry is possible. */
const max_held = 16;

/** What ended the attempts at a model: a refusal, its reply or the first content of it, or that none of its upstreams answers. */
export type FallbackReason = Failure | Completion | readonly Chunk[] | 'unavailable';

/** Finds the model that then takes its place. What it returns makes the exchange that model's, and returns its load balancer. */
export type Fallback = (why: FallbackReason) => (() => LoadBalancer) | undefined;

/**
 * The attempts of one exchange, one after another, until an upstream answers: after the first word of an answer there is no retry (protocol
 * i6). Every attempt encodes the canonical request anew; one that failed is closed before the next begins.
 */
export class Attempts {
  /** A whole reply is read to its end for the bill when its client leaves. */
  readonly outlivesClient = true;
  readonly #exchange: Exchange;
  #balancer: LoadBalancer;
  readonly #setup: RouterSetup;
  readonly #fallback: Fallback | undefined;
  /** Made where there is a choice, something to wait for, or another attempt. */
  #usedSelector: UpstreamSelector | undefined;
  /** The last attempt, unless another one is to follow. */
  #current: Attempt | undefined;
  /** The last attempt that has failed. */
  #failed: Attempt | undefined;
  /** The error of the exchange if no attempt is answered. */
  #error: GatewayError | undefined;
  #ended = false;
  /** Attempts beside `max_attempts`: on a connection that was stale, and at models that were fallen back from. */
  #uncounted = 0;

  constructor(exchange: Exchange, balancer: LoadBalancer, setup: RouterSetup, fallback?: Fallback) {
    this.#exchange = exchange;
    this.#balancer = balancer;
    this.#setup = setup;
    this.#fallback = fallback;
    balancer.budget.deposit();
  }

  get #selector(): UpstreamSelector {
    this.#usedSelector ??= new UpstreamSelector(this.#exchange, this.#balancer, this.#setup);
    return this.#usedSelector;
  }

  /** Resolves with the whole reply; rejects with a GatewayError. */
  reply(): Promise<Completion> {
    const reply = this.#untilAnswered(attempt => attempt.reply());
    return this.#fallback ? reply.then(came => this.#unlessFiltered(came)) : reply;
  }

  /** The reply, or that of another model where a filter has ended all of it: the client has had nothing yet. */
  #unlessFiltered(reply: Completion): Completion | Promise<Completion> {
    if (!this.#fallBack(reply)) return reply;
    this.#exchange.attempts.at(-1)!.used = reply.usage;
    return this.reply();
  }

  /** The reply as a stream. No request is sent before it is resumed. */
  stream(): ChunkSource {
    const held = this.#balancer.canRetry || this.#fallback ? max_held : 0;
    return { pushInto: sink => new AttemptStream(sink, this, held) };
  }

  /** Makes attempts until one fills `stream`. */
  begin(stream: AttemptStream): void {
    this.#untilAnswered(attempt => attempt.fill(stream)).catch(error => stream.giveUp(error));
  }

  drained(): void {
    this.#current?.drained();
  }

  /** Fails the attempt whose stream a filter ends before its first word, if another model takes its place. */
  refuses(chunks: readonly Chunk[]): boolean {
    if (!this.#fallback?.(chunks)) return false;
    const body = { code: 'content_filter' };
    const failed = new AttemptFailed({ kind: 'refused', body, error: refusal('upstream_refused') });
    this.#current?.fault(failed, false);
    return true;
  }

  /** True if no attempt runs and none will follow. */
  get ended(): boolean {
    return this.#ended || this.#current?.isOver === true;
  }

  /** Ends the running attempt and prevents further ones. */
  cancel(): void {
    this.#ended = true;
    this.#usedSelector?.end();
    this.#current?.cancel();
  }

  /** Closes the last attempt after the exchange has ended and its usage is known. */
  settled(): void {
    const { span, upstream } = this.#current ?? {};
    if (span || upstream?.quota) this.#current?.settled();
  }

  #untilAnswered<T>(ask: (attempt: Attempt) => Promise<T>): Promise<T> {
    const attempt = this.#next();
    // Usually a permit is there at once, and need not be awaited.
    return attempt instanceof Promise
      ? attempt.then(begun => this.#answer(begun, ask))
      : this.#answer(attempt, ask);
  }

  /** The answer of `attempt`, or of those that follow it. */
  #answer<T>(attempt: Attempt, ask: (attempt: Attempt) => Promise<T>): Promise<T> {
    return this.#answerOf(attempt, ask).catch(error => {
      const resent = this.#sendAgain(attempt);
      if (resent) return this.#answer(resent, ask);
      if (!this.#canRetry(attempt, error) && !this.#fallBack(fallbackReasonOf(attempt)))
        throw this.#end(error, attempt.failure);
      return this.#untilAnswered(ask);
    });
  }

  #next(): Attempt | Promise<Attempt> {
    const { clock, request } = this.#exchange;
    const now_ms = clock.elapsed_ms();
    const only = this.#usedSelector ? undefined : this.#balancer.onlyFree(now_ms);
    if (only) return this.#begin(AttemptPermit.acquire(only, request, now_ms), 0);
    const permit = this.#selector.next();
    return permit instanceof Promise ? this.#whenFree(permit) : this.#begin(permit, 0);
  }

  /**
   * Sends a request again whose kept connection was closed by the server as it came, once and on a new connection: nothing has failed but
   * the connection, so neither the attempts nor the retry budget are used.
   */
  #sendAgain(stale: Attempt): Attempt | undefined {
    const { failure, upstream, isResent } = stale;
    if (failure?.kind !== 'stale_connection' || isResent || !this.#selector.isWanted) return undefined;
    stale.superseded();
    this.#uncounted++;
    markEvent(this.#exchange.span, 'retry', { 'error.type': failure.kind });
    const permit = this.#selector.acquire(upstream);
    return this.#follow(new Attempt(this.#exchange, permit, this.#setup.metrics, 0, true));
  }

  async #whenFree(permit: Promise<AttemptPermit>): Promise<Attempt> {
    const { clock } = this.#exchange;
    const asked_ms = clock.elapsed_ms();
    try {
      return this.#begin(await permit, clock.elapsed_ms() - asked_ms);
    } catch (thrown) {
      if (!(thrown instanceof NoUpstreamAvailable)) throw thrown;
      if (this.#fallBack('unavailable')) return this.#next();
      throw this.#end(this.#refusalOf(thrown), this.#failed?.failure);
    }
  }

  #answerOf<T>(attempt: Attempt, ask: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { health } = attempt.upstream.provider;
    const reply = ask(attempt);
    return health && this.#balancer.canRetry ? health.during(reply, () => this.#failOver(attempt)) : reply;
  }

  /**
   * Fails over when the health check of the upstream fails, since its server may hang until the client's time limit. Only if another
   * upstream is free and nothing of the reply has arrived.
   */
  #failOver(attempt: Attempt): void {
    if (this.#isLast || this.#balancer.budget.isSpent) return;
    if (this.#selector.hasOther(attempt.upstream)) attempt.unhealthy();
  }

  #begin(permit: AttemptPermit, wait_ms: number): Attempt {
    const attempt = new Attempt(this.#exchange, permit, this.#setup.metrics, wait_ms);
    const failed = this.#failed;
    if (failed?.failure) {
      const [from, to] = [failed.upstream.provider.name, permit.upstream.provider.name];
      markEvent(this.#exchange.span, 'retry', { 'error.type': failed.failure.kind });
      this.#balancer.budget.spend();
      this.#setup.metrics.routing.failedOver(from, to, failed.failure.kind);
      this.#log(failed.failure, from, to);
    }
    return this.#follow(attempt);
  }

  #follow(attempt: Attempt): Attempt {
    this.#current = attempt;
    // The permit arrived in the same turn as `cancel`.
    if (this.#ended) attempt.cancel();
    return attempt;
  }

  /** Whether as many attempts as are allowed have been made. */
  get #isLast(): boolean {
    return this.#exchange.attempts.length - this.#uncounted >= this.#balancer.options.max_attempts;
  }

  /** Whether another attempt may follow this one, which has thrown `error`. */
  #canRetry(attempt: Attempt, error: unknown): boolean {
    const { failure, generated, upstream, sent } = attempt;
    if (!this.#selector.isWanted || !GatewayError.is(error)) return false;
    if (!this.#balancer.canRetry && !failure?.another_key) return false;
    if (!sent) {
      // The adapter cannot express this request; another one may.
      if (error.status !== 400) return false;
      this.#selector.unfit(upstream);
    } else {
      if (!failure || generated || !isRetryable(failure)) return false;
      // A declined key is paused, so an upstream gets one attempt with each of its keys at most.
      if (!failure.another_key) this.#selector.failed(upstream);
      this.#failed = attempt;
    }
    attempt.superseded();
    this.#error = errorOf(this.#error, error);
    this.#current = undefined;
    if (this.#isLast) return this.#denied('attempts');
    return failure && this.#balancer.budget.isSpent ? this.#denied('budget') : true;
  }

  /** Begins anew with the model that takes the place of the exchange's, if there is one. */
  #fallBack(why: FallbackReason | undefined): boolean {
    const enter = why && this.#selector.isWanted && this.#fallback?.(why);
    if (!enter) return false;
    this.#current?.superseded();
    this.#current = this.#failed = this.#error = this.#usedSelector = undefined;
    this.#uncounted = this.#exchange.attempts.length;
    this.#balancer = enter();
    this.#balancer.budget.deposit();
    return true;
  }

  #denied(reason: DeniedRetry): false {
    this.#setup.metrics.routing.denied(this.#exchange.model?.id ?? '_other', reason);
    return false;
  }

  #refusalOf({ why, usable_in_ms }: NoUpstreamAvailable): GatewayError {
    const model = this.#exchange.model?.id ?? '_other';
    if (this.#error) {
      if (why !== 'left') this.#denied(why === 'time' ? 'time' : 'upstreams');
      return this.#error;
    }
    if (why === 'left') return refusal('server_error');
    this.#exchange.end.causedBy('refused');
    if (why === 'closed') return refusal('out_of_service');
    if (why === 'full' || why === 'limited') this.#setup.metrics.routing.overflowed(model);
    const seconds = Number.isFinite(usable_in_ms) ? Math.max(1, Math.ceil(usable_in_ms / 1000)) : 1;
    const headers = { 'retry-after': String(seconds) };
    if (why === 'limited') {
      const message = `Every provider of this model is at its rate limit. Retry in ${seconds} seconds.`;
      return refusal('rate_limited', { message, headers });
    }
    if (why === 'full') {
      return refusal('server_error', {
        cause: new Error('every upstream of the model is at its max_concurrent'),
      });
    }
    const cause = new Error(
      'no upstream of the model is usable: circuit breakers, Retry-After or health checks',
    );
    return refusal('provider_unreachable', { cause, headers });
  }

  #end(error: unknown, failure?: Failure): unknown {
    this.#ended = true;
    if (failure) this.#exchange.end.causedBy(causeOf(failure));
    return this.#error && GatewayError.is(error) ? errorOf(this.#error, error) : error;
  }

  #log({ kind, error }: Failure, from: string, to: string): void {
    const { log, model, attempts } = this.#exchange;
    const facts = {
      provider: from,
      next: to,
      kind,
      model: model?.id,
      err: withoutPrompt(this.#exchange, error.cause),
    };
    // The line of the exchange has all attempts.
    const outage = `retry ${from} ${kind} ${attempts.at(-1)?.status}`;
    const { outages } = this.#setup;
    const own = 'provider misconfigured: address, key or model name not accepted, retrying elsewhere';
    if (kind === 'misconfigured') outages.write(outage, log, 'error', facts, own);
    else outages.write(outage, log, 'warn', facts, 'attempt failed, retrying');
  }
}

/** Undefined where another model would not help: something was generated. */
const fallbackReasonOf = ({ failure, generated }: Attempt): FallbackReason | undefined =>
  generated ? undefined : failure && isRetryable(failure) ? 'unavailable' : failure;

/** The later of two errors, unless it only says that one of several upstreams is misconfigured. */
function errorOf(earlier: GatewayError | undefined, later: GatewayError): GatewayError {
  return earlier && later.code === 'provider_misconfigured' ? earlier : later;
}
