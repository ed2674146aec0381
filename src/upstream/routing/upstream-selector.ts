import { ExponentialBackoff, fullJitterGenerator, type IBackoff } from 'cockatiel';
import type { Exchange } from '../../exchange.ts';
import { conversationOf } from './affinity-key.ts';
import { AttemptPermit } from './attempt-permit.ts';
import type { Waited } from './bulkhead.ts';
import type { LoadBalancer, Pick } from './load-balancer.ts';
import type { RouterSetup } from './router.ts';
import type { Upstream } from './upstream.ts';

/** Why nobody is asked: all places are taken, nobody may be, it would take too long, or nobody waits any longer. */
export class NoUpstreamAvailable extends Error {
  readonly why: 'full' | 'unusable' | 'time' | 'left';
  /** When somebody may be, in milliseconds from now; possibly infinite. */
  readonly usable_in_ms: number;

  constructor(why: NoUpstreamAvailable['why'], usable_in_ms: number) {
    super(`nobody to ask: ${why}`);
    this.why = why;
    this.usable_in_ms = usable_in_ms;
  }
}

/** Timers fire up to a millisecond early. */
const timer_slack_ms = 2;

/** Never again in this exchange. */
const never = Number.POSITIVE_INFINITY;

/** One exchange's search for upstreams, one after another: who was asked, and the waiting for a place or for another try. */
export class UpstreamSelector {
  readonly #exchange: Exchange;
  readonly #route: LoadBalancer;
  readonly #setup: RouterSetup;
  /** How often whom. */
  readonly #asked = new Map<Upstream, number>();
  readonly #conversation: number | undefined;
  #backoff: IBackoff<unknown> | undefined;
  #overflown = false;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(exchange: Exchange, route: LoadBalancer, setup: RouterSetup) {
    this.#exchange = exchange;
    this.#route = route;
    this.#setup = setup;
    this.#conversation = route.isSticky ? conversationOf(exchange.request) : undefined;
  }

  /** Somebody still waits for an answer: the client has not left, was not answered 524, and `end` was not called. */
  get isWanted(): boolean {
    return !this.#ended && !this.#exchange.aborted && this.#exchange.end_reason === undefined;
  }

  /** The next upstream, at once if it can be. Throws NoUpstreamAvailable. */
  next(): AttemptPermit | Promise<AttemptPermit> {
    const pick = this.#pick();
    return pick.when === 'now' ? this.#take(pick.upstream) : this.#wait(pick);
  }

  /** Whether an upstream other than `current` could be asked at once. */
  hasOther(current: Upstream): boolean {
    if (!this.isWanted) return false;
    const asked = new Map(this.#asked).set(current, never);
    return this.#pick(asked).when === 'now';
  }

  /** It was asked, and failed. */
  failed(upstream: Upstream): void {
    this.#asked.set(upstream, (this.#asked.get(upstream) ?? 0) + 1);
  }

  /** It has no words for this request. */
  unfit(upstream: Upstream): void {
    this.#asked.set(upstream, never);
  }

  /** Nobody is looked for any longer. */
  readonly end = (): void => {
    this.#ended = true;
    this.#wake?.();
  };

  #pick(asked: ReadonlyMap<Upstream, number> = this.#asked): Pick {
    return this.#route.next({
      stream: this.#exchange.request.stream,
      now_ms: this.#exchange.clock.elapsed_ms(),
      asked,
      conversation: this.#conversation,
    });
  }

  #take(upstream: Upstream): AttemptPermit {
    return AttemptPermit.take(upstream, this.#exchange.request.stream, this.#exchange.clock.elapsed_ms());
  }

  async #wait(first: Pick): Promise<AttemptPermit> {
    const { clock } = this.#exchange;
    const begun_ms = clock.elapsed_ms();
    this.#exchange.onAbort(this.end);
    this.#exchange.whenLeft = this.end;
    try {
      for (let pick = first; ; pick = this.#pick()) {
        if (pick.when === 'now') return this.#take(pick.upstream);
        if (pick.when === 'never')
          throw new NoUpstreamAvailable(this.#overflown ? 'full' : pick.why, pick.usable_in_ms);
        if (pick.when === 'later') return await this.#later(pick.upstream, pick.wait_ms);
        const admission = await this.#inTurn(pick.upstream);
        if (admission) return admission;
      }
    } finally {
      this.#exchange.offAbort(this.end);
      this.#exchange.whenLeft = undefined;
      this.#exchange.upstream_wait_ms += clock.elapsed_ms() - begun_ms;
    }
  }

  /** The same upstream once more, when it may be asked and a random time has passed. */
  async #later(upstream: Upstream, usable_in_ms: number): Promise<AttemptPermit> {
    const { backoff_ms, max_backoff_ms } = this.#route.options;
    const generator = { initialDelay: backoff_ms, maxDelay: max_backoff_ms, generator: fullJitterGenerator };
    this.#backoff = (this.#backoff ?? new ExponentialBackoff(generator)).next(undefined as never);
    const wait_ms = Math.max(this.#backoff.duration, usable_in_ms + timer_slack_ms);
    if (wait_ms > this.#remaining_ms) throw new NoUpstreamAvailable('time', usable_in_ms);
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, wait_ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
    if (!this.isWanted) throw new NoUpstreamAvailable('left', never);
    const in_ms = upstream.usable_in_ms(this.#exchange.clock.elapsed_ms());
    if (in_ms > 0) throw new NoUpstreamAvailable('unusable', in_ms);
    if (!upstream.provider.bulkhead.hasPlace) throw new NoUpstreamAvailable('full', 0);
    return this.#take(upstream);
  }

  /** A place at the upstream's provider, or nothing if none comes free in time. */
  async #inTurn(upstream: Upstream): Promise<AttemptPermit | undefined> {
    const { bulkhead, config, name } = upstream.provider;
    const { request, clock } = this.#exchange;
    const begun_ms = clock.elapsed_ms();
    const waiting = bulkhead.wait(Math.min(config.queue_timeout_ms, this.#remaining_ms));
    this.#wake = waiting.leave;
    const waited: Waited = await waiting.outcome;
    this.#wake = undefined;
    this.#setup.metrics.routing.queued(name, waited, clock.elapsed_ms() - begun_ms);
    if (waited === 'entered') {
      const now_ms = clock.elapsed_ms();
      if (this.isWanted && upstream.usable_in_ms(now_ms) === 0)
        return new AttemptPermit(upstream, request.stream, now_ms);
      bulkhead.leave();
    }
    if (!this.isWanted) throw new NoUpstreamAvailable('left', never);
    // While it was waited for its breaker has opened, or its rest begun: whoever is there now is asked.
    if (waited === 'entered') return undefined;
    this.#overflown = true;
    this.#asked.set(upstream, never);
    return undefined;
  }

  /** How long nothing may happen: a stream's status, or a whole reply, is waited for. */
  get #remaining_ms(): number {
    const { request, clock, started_ms, received_ms = started_ms } = this.#exchange;
    const { stream_commit_ms, non_stream_timeout_ms } = this.#setup.limits;
    const until_ms = request.stream ? received_ms + stream_commit_ms : started_ms + non_stream_timeout_ms;
    return Math.max(0, until_ms - clock.elapsed_ms());
  }
}
