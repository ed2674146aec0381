import { ExponentialBackoff, fullJitterGenerator, type IBackoff } from 'cockatiel';
import type { Metrics } from '../../../telemetry/metrics.ts';
import type { ThrottledLog } from '../../../telemetry/throttled-log.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { affinityKeyOf } from './affinity-key.ts';
import { AttemptPermit } from './attempt-permit.ts';
import type { LoadBalancer, Selection } from './load-balancer.ts';
import type { Upstream } from './upstream.ts';

/** How long a client may wait for a stream's status, and for a whole reply. */
export interface WaitLimits {
  readonly stream_commit_ms: number;
  readonly non_stream_timeout_ms: number;
}

/** What the attempts of all exchanges share. */
export interface RouterSetup {
  readonly metrics: Metrics;
  /** Writes what is logged of outages of providers. */
  readonly outages: ThrottledLog<string>;
  readonly limits: WaitLimits;
}

/**
 * Thrown if no upstream can be tried: all permits are taken, all are at their limits, none is usable or takes requests, it would take too
 * long, or the reply is not wanted any longer.
 */
export class NoUpstreamAvailable extends Error {
  readonly why: 'full' | 'limited' | 'unusable' | 'closed' | 'time' | 'left';
  /** Milliseconds until one is usable; `Infinity` if unknown. */
  readonly usable_in_ms: number;

  constructor(why: NoUpstreamAvailable['why'], usable_in_ms: number) {
    super(`no upstream available: ${why}`);
    this.why = why;
    this.usable_in_ms = usable_in_ms;
  }
}

/** Timers fire up to a millisecond early. */
const timer_slack_ms = 2;

/** As a failure count, excludes an upstream for the rest of the exchange; as a time, unknown. */
const never = Number.POSITIVE_INFINITY;

const noneFailed: ReadonlyMap<Upstream, number> = new Map();

/** Finds one upstream after another for an exchange; waits for permits and for retries. */
export class UpstreamSelector {
  readonly #exchange: Exchange;
  readonly #balancer: LoadBalancer;
  readonly #setup: RouterSetup;
  /** Failed attempts per upstream. */
  #failed: ReadonlyMap<Upstream, number> = noneFailed;
  readonly #affinity_key: number | undefined;
  #backoff: IBackoff<unknown> | undefined;
  #isOverflown = false;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(exchange: Exchange, balancer: LoadBalancer, setup: RouterSetup) {
    this.#exchange = exchange;
    this.#balancer = balancer;
    this.#setup = setup;
    this.#affinity_key = balancer.isSticky ? affinityKeyOf(exchange.request) : undefined;
  }

  /** True while a reply is wanted: the client has not left, was not answered 524, and `end` was not called. */
  get isWanted(): boolean {
    return !this.#ended && !this.#exchange.aborted && this.#exchange.end_reason === undefined;
  }

  /** Acquires a permit of the next upstream, without a promise if one is free. Throws NoUpstreamAvailable. */
  next(): AttemptPermit | Promise<AttemptPermit> {
    const selection = this.#select();
    return selection.when === 'now' ? this.acquire(selection.upstream) : this.#wait(selection);
  }

  /** Whether an upstream other than `current` could be tried at once. */
  hasOther(current: Upstream): boolean {
    return this.isWanted && this.#select(new Map(this.#failed).set(current, never)).when === 'now';
  }

  failed(upstream: Upstream): void {
    this.#count(upstream, (this.#failed.get(upstream) ?? 0) + 1);
  }

  /** Excludes an upstream whose format cannot express this request. */
  unfit(upstream: Upstream): void {
    this.#count(upstream, never);
  }

  /** Ends all waiting; no further upstream is selected. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  #count(upstream: Upstream, failures: number): void {
    this.#failed = new Map(this.#failed).set(upstream, failures);
  }

  #select(failed: ReadonlyMap<Upstream, number> = this.#failed): Selection {
    return this.#balancer.next({
      request: this.#exchange.request,
      now_ms: this.#exchange.clock.elapsed_ms(),
      failed,
      affinity_key: this.#affinity_key,
    });
  }

  /** Acquires a permit of `upstream`, even above its limit. */
  acquire(upstream: Upstream): AttemptPermit {
    return AttemptPermit.acquire(upstream, this.#exchange.request, this.#exchange.clock.elapsed_ms());
  }

  async #wait(first: Selection): Promise<AttemptPermit> {
    const { clock } = this.#exchange;
    const begun_ms = clock.elapsed_ms();
    const end = () => this.end();
    this.#exchange.onAbort(end);
    this.#exchange.whenLeft = end;
    try {
      for (let selection = first; ; selection = this.#select()) {
        if (selection.when === 'now') return this.acquire(selection.upstream);
        if (selection.when === 'never')
          throw new NoUpstreamAvailable(this.#isOverflown ? 'full' : selection.why, selection.usable_in_ms);
        if (selection.when === 'later') return await this.#retry(selection.upstream, selection.wait_ms);
        const permit = await this.#queue(selection.upstream);
        if (permit) return permit;
      }
    } finally {
      this.#exchange.offAbort(end);
      this.#exchange.whenLeft = undefined;
      this.#exchange.upstream_wait_ms += clock.elapsed_ms() - begun_ms;
    }
  }

  /** Tries the same upstream again, once it is usable and a random backoff has passed. */
  async #retry(upstream: Upstream, usable_in_ms: number): Promise<AttemptPermit> {
    const { backoff_ms, max_backoff_ms } = this.#balancer.options;
    const options = { initialDelay: backoff_ms, maxDelay: max_backoff_ms, generator: fullJitterGenerator };
    this.#backoff = (this.#backoff ?? new ExponentialBackoff(options)).next(undefined as never);
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
    if (!upstream.provider.bulkhead.hasPermit) throw new NoUpstreamAvailable('full', 0);
    return this.acquire(upstream);
  }

  /** A permit of the upstream's provider, or undefined if none comes free in time. */
  async #queue(upstream: Upstream): Promise<AttemptPermit | undefined> {
    const { bulkhead, config, name } = upstream.provider;
    const { request, clock } = this.#exchange;
    const begun_ms = clock.elapsed_ms();
    const { outcome, cancel } = bulkhead.wait(Math.min(config.queue_timeout_ms, this.#remaining_ms));
    this.#wake = cancel;
    const how = await outcome;
    this.#wake = undefined;
    const now_ms = clock.elapsed_ms();
    this.#setup.metrics.routing.queued(name, how, now_ms - begun_ms);
    if (how === 'entered') {
      if (this.isWanted && upstream.usable_in_ms(now_ms) === 0)
        return new AttemptPermit(upstream, request, now_ms);
      bulkhead.release();
    }
    if (!this.isWanted) throw new NoUpstreamAvailable('left', never);
    // If a permit was granted, the breaker has opened or a pause begun meanwhile, and the next selection finds it unusable.
    if (how !== 'entered') {
      this.#isOverflown = true;
      this.unfit(upstream);
    }
    return undefined;
  }

  /** Time left until the client must see a status (stream) or the whole reply. */
  get #remaining_ms(): number {
    const { request, clock, started_ms, received_ms = started_ms } = this.#exchange;
    const { stream_commit_ms, non_stream_timeout_ms } = this.#setup.limits;
    const until_ms = request.stream ? received_ms + stream_commit_ms : started_ms + non_stream_timeout_ms;
    return Math.max(0, until_ms - clock.elapsed_ms());
  }
}
