import type { Completion } from '../../canonical.ts';
import { GatewayError, refusal } from '../../errors.ts';
import type { Exchange } from '../../exchange.ts';
import type { StreamMeter } from '../../settlement/meter.ts';
import { metered } from '../../settlement/metered-stream.ts';
import type { ChunkSource } from '../../stream.ts';
import type { DeniedRetry } from '../../telemetry/routing-metrics.ts';
import { markEvent } from '../../telemetry/tracing.ts';
import type { AttemptPermit } from '../routing/attempt-permit.ts';
import type { LoadBalancer } from '../routing/load-balancer.ts';
import { NoUpstreamAvailable, type RouterSetup, UpstreamSelector } from '../routing/upstream-selector.ts';
import { Attempt } from './attempt.ts';
import { AttemptStream } from './attempt-stream.ts';
import { causeOf, type Failure, isRetryable } from './failure.ts';

/** How many chunks without a word of the answer may wait for its first word, where another upstream could be asked. */
const max_held = 16;

/**
 * The attempts of one exchange, one after another, until an upstream answers: the first word of an answer decides, and nobody else is
 * asked after it (protocol i6). Every attempt encodes the canonical request anew; one that failed is closed before the next begins.
 */
export class Attempts {
  /** A whole reply is read to its end for the bill when its client leaves (protocol j4). */
  readonly outlivesClient = true;
  readonly #exchange: Exchange;
  readonly #route: LoadBalancer;
  readonly #setup: RouterSetup;
  readonly #search: UpstreamSelector;
  readonly #made: Attempt[] = [];
  #current: Attempt | undefined;
  /** What the client is told if nobody answers. */
  #lasting: GatewayError | undefined;
  #ended = false;

  constructor(exchange: Exchange, route: LoadBalancer, setup: RouterSetup) {
    this.#exchange = exchange;
    this.#route = route;
    this.#setup = setup;
    this.#search = new UpstreamSelector(exchange, route, setup);
    route.budget.deposit();
  }

  /** The whole reply, or a GatewayError. */
  reply(): Promise<Completion> {
    return this.#untilAnswered(attempt => attempt.reply());
  }

  /** The reply as a stream, counted by `meter`. No upstream is asked before it is resumed. */
  stream(meter: StreamMeter): ChunkSource {
    const held = this.#route.hasOthers ? max_held : 0;
    const source: ChunkSource = {
      pushInto: sink => {
        const producer = {
          begin: () => {
            this.#untilAnswered(attempt => attempt.fill(stream)).catch(error => stream.giveUp(error));
          },
          drained: () => this.#current?.drained(),
          left: () => this.cancel(),
        };
        const stream: AttemptStream = new AttemptStream(sink, producer, held);
        return stream;
      },
    };
    return metered(source, meter);
  }

  /** Nobody is being asked, and nobody will be. */
  get ended(): boolean {
    return this.#ended || this.#current?.isOver === true;
  }

  /** Ends the attempt that is under way; no other follows. */
  cancel(): void {
    this.#ended = true;
    this.#search.end();
    this.#current?.cancel();
  }

  /** The exchange has ended, and what it used is known. */
  settled(): void {
    for (const attempt of this.#made) attempt.settled();
  }

  async #untilAnswered<T>(ask: (attempt: Attempt) => Promise<T>): Promise<T> {
    while (true) {
      const admission = this.#admission();
      // Mostly there is no need to wait, and then nothing does.
      const attempt = this.#begin(admission instanceof Promise ? await admission : admission);
      try {
        return await this.#answerOf(attempt, ask);
      } catch (error) {
        if (!this.#goesOn(attempt, error)) throw this.#over(error, attempt.failure);
      }
    }
  }

  #answerOf<T>(attempt: Attempt, ask: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { health } = attempt.upstream.provider;
    const reply = ask(attempt);
    return health && this.#route.hasOthers ? health.during(reply, () => this.#moveOn(attempt)) : reply;
  }

  /**
   * The health check of the upstream fails. A server that hangs would be waited for until the client's time is over; as long as nothing of
   * its reply has arrived another upstream may be asked (protocol i6), and is if one can be at once.
   */
  #moveOn(attempt: Attempt): void {
    const { max_attempts } = this.#route.options;
    if (this.#exchange.attempts >= max_attempts || this.#route.budget.isSpent) return;
    if (this.#search.hasOther(attempt.upstream)) attempt.unhealthy();
  }

  #admission(): AttemptPermit | Promise<AttemptPermit> {
    const found = this.#search.next();
    if (!(found instanceof Promise)) return found;
    return found.catch(thrown => {
      throw thrown instanceof NoUpstreamAvailable ? this.#over(this.#nobody(thrown)) : thrown;
    });
  }

  #begin(admission: AttemptPermit): Attempt {
    const attempt = new Attempt(this.#exchange, admission, this.#setup.metrics);
    const failed = this.#made.findLast(({ failure }) => failure);
    if (failed?.failure) {
      const [from, to] = [failed.upstream.provider.name, admission.upstream.provider.name];
      markEvent(this.#exchange.span, 'retry', { 'error.type': failed.failure.kind });
      this.#route.budget.spend();
      this.#setup.metrics.routing.failedOver(from, to, failed.failure.kind);
      this.#log(failed.failure, from, to);
    }
    this.#made.push(attempt);
    this.#current = attempt;
    // Its place was given in the same moment in which nobody wanted it any longer.
    if (this.#ended) attempt.cancel();
    return attempt;
  }

  /** Whether another upstream may be asked after this attempt has thrown `error`. */
  #goesOn(attempt: Attempt, error: unknown): boolean {
    const { failure, generated, upstream, sent } = attempt;
    if (!this.#search.isWanted || !GatewayError.is(error)) return false;
    if (!this.#route.hasOthers && !failure?.another_key) return false;
    if (!sent) {
      // The adapter has no words for this request; another one's may have.
      if (error.status !== 400) return false;
      this.#search.unfit(upstream);
    } else {
      if (!failure || generated || !isRetryable(failure)) return false;
      // A declined key rests now: the same upstream is asked once with each of its keys at most.
      if (!failure.another_key) this.#search.failed(upstream);
      attempt.superseded();
    }
    this.#lasting = lastingOf(this.#lasting, error);
    this.#current = undefined;
    const { max_attempts } = this.#route.options;
    if (this.#exchange.attempts >= max_attempts) return this.#denied('attempts');
    return failure && this.#route.budget.isSpent ? this.#denied('budget') : true;
  }

  #denied(reason: DeniedRetry): false {
    this.#setup.metrics.routing.denied(this.#exchange.model?.id ?? '_other', reason);
    return false;
  }

  #nobody({ why, usable_in_ms }: NoUpstreamAvailable): GatewayError {
    const model = this.#exchange.model?.id ?? '_other';
    if (this.#lasting) {
      if (why !== 'left') this.#denied(why === 'time' ? 'time' : 'upstreams');
      return this.#lasting;
    }
    if (why === 'left') return refusal('server_error');
    this.#exchange.end.causedBy('refused');
    if (why === 'full') {
      this.#setup.metrics.routing.overflowed(model);
      return refusal('server_error', {
        cause: new Error('every upstream of the model is at its max_concurrent'),
      });
    }
    const cause = new Error('no upstream of the model may be asked: breakers, Retry-After or health checks');
    const seconds = Number.isFinite(usable_in_ms) ? Math.max(1, Math.ceil(usable_in_ms / 1000)) : 1;
    return refusal('provider_unreachable', { cause, headers: { 'retry-after': String(seconds) } });
  }

  #over(error: unknown, failure?: Failure): unknown {
    this.#ended = true;
    if (failure) this.#exchange.end.causedBy(causeOf(failure));
    return this.#lasting && GatewayError.is(error) ? lastingOf(this.#lasting, error) : error;
  }

  #log({ kind, error }: Failure, from: string, to: string): void {
    const { log, model } = this.#exchange;
    const facts = { provider: from, next: to, kind, model: model?.id, err: error.cause };
    if (kind === 'misconfigured')
      log.error(facts, 'a provider does not accept its address, key or model name; another one is asked');
    else log.warn(facts, 'an attempt failed; another upstream is asked');
  }
}

/** Of two errors the later one, unless it only says that one of several upstreams was set up wrongly. */
function lastingOf(earlier: GatewayError | undefined, later: GatewayError): GatewayError {
  return earlier && later.code === 'provider_misconfigured' ? earlier : later;
}
