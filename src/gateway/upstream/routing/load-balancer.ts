import type { Clock } from '../../../common/clock.ts';
import type { RoutingConfig } from '../../../common/options.ts';
import type { ChatRequest } from '../../exchange/canonical.ts';
import { betterOfTwo, type Candidate, chooseOfTwo, chooseSticky, uniform } from './draw-upstream.ts';
import { RetryBudget } from './retry-budget.ts';
import type { Upstream, UpstreamControl } from './upstream.ts';
import { WeightedGroup } from './weighted-group.ts';

/** An exchange's query for its next upstream. */
export interface UpstreamQuery {
  readonly request: Pick<ChatRequest, 'stream' | 'messages'>;
  readonly now_ms: number;
  /** Failed attempts of this exchange by upstream; `Infinity` for one that cannot serve the request. */
  readonly failed: ReadonlyMap<Upstream, number>;
  /** Key that keeps a conversation at one upstream; undefined without affinity. */
  readonly affinity_key: number | undefined;
}

/** The next upstream: now, after a wait for a permit, or after a delay; or why there is none. */
export type Selection =
  | { readonly when: 'now' | 'queued'; readonly upstream: Upstream }
  | { readonly when: 'later'; readonly upstream: Upstream; readonly wait_ms: number }
  | {
      readonly when: 'never';
      readonly why: 'full' | 'limited' | 'unusable' | 'closed';
      readonly usable_in_ms: number;
    };

/** Chooses among several upstreams of one priority that can be tried now, in place of the draw by weight, load and latency. */
export type RoutingStrategy = <C extends Candidate & { readonly upstream: Pick<Upstream, 'paid_prices'> }>(
  candidates: readonly C[],
  random: () => number,
) => C;

/** Separates the draw for a recovering upstream's share from the draw that ranks it. */
const share_salt = 0x5bd1e995;

/** Of so many upstreams of one priority and more, some are drawn before all are looked at; and how often. */
const [many, most_draws] = [16, 8];

/** Selects among one model's upstreams: by priority, then by weight, load and latency. */
export class LoadBalancer {
  readonly options: RoutingConfig;
  readonly budget: RetryBudget;
  /** True if another attempt can follow a failed one. */
  readonly canRetry: boolean;
  readonly isSticky: boolean;
  /** All upstreams, first priority first. */
  readonly upstreams: readonly Upstream[];
  /** Those that take new requests. */
  #open: readonly Upstream[];
  #groups: readonly WeightedGroup[];
  /** Those and the draining ones, for conversations; undefined if none is draining. */
  #keeping: readonly WeightedGroup[] | undefined;
  readonly #random: () => number;
  readonly #strategy: RoutingStrategy | undefined;

  constructor(
    upstreams: readonly Upstream[],
    options: RoutingConfig,
    clock: Clock,
    random: () => number = Math.random,
    budget: RetryBudget = new RetryBudget(options, clock),
    strategy?: RoutingStrategy,
  ) {
    this.options = options;
    this.budget = budget;
    this.canRetry = options.max_attempts > 1 && (upstreams.length > 1 || options.retries_per_upstream > 0);
    this.isSticky = options.sticky === 'conversation' && upstreams.length > 1;
    this.#groups = groupsOf(upstreams);
    this.upstreams = this.#groups.flatMap(group => group.upstreams);
    this.#open = this.upstreams;
    this.#random = random;
    this.#strategy = strategy;
  }

  /** Follows the controls of operators, in place of those before. */
  control(controls: ReadonlyMap<string, UpstreamControl>): void {
    for (const upstream of this.upstreams) upstream.control = controls.get(upstream.provider.name);
    this.#open = this.upstreams.filter(({ control }) => (control?.state ?? 'active') === 'active');
    this.#groups = groupsOf(this.#open);
    const kept = this.upstreams.filter(({ control }) => control?.state !== 'paused');
    this.#keeping = this.isSticky && kept.length > this.#open.length ? groupsOf(kept) : undefined;
  }

  /** The upstream of a model that has but one, if it can be tried now. */
  onlyFree(now_ms: number): Upstream | undefined {
    const [only] = this.#open;
    if (!only || this.upstreams.length > 1) return undefined;
    return only.provider.bulkhead.hasPermit && only.usable_in_ms(now_ms) === 0 ? only : undefined;
  }

  /** Selects the next upstream. One that has failed in this exchange is selected again only after all others. */
  next(query: UpstreamQuery): Selection {
    const isFirst = query.failed.size === 0;
    const kept = this.#keeping && this.#kept(query, this.#keeping);
    return kept ?? this.#fresh(query) ?? (isFirst ? this.#lastResort(query) : this.#again(query));
  }

  /** The draining upstream where the conversation is. */
  #kept(query: UpstreamQuery, groups: readonly WeightedGroup[]): Selection | undefined {
    const found = this.#fresh(query, groups);
    const isContinued = query.request.messages.some(({ role }) => role === 'assistant');
    const isThere =
      found?.when === 'now' && found.upstream.control?.keeps?.(query.affinity_key!, isContinued);
    return isThere ? found : undefined;
  }

  /** Selects one that has not failed, of the first priority that has a usable one. */
  #fresh(query: UpstreamQuery, groups = this.#groups): Selection | undefined {
    let recovering: readonly Upstream[] | undefined;
    for (const group of groups) {
      const drawn = this.#drawnOf(group, query);
      if (drawn) return { when: 'now', upstream: drawn };
      const usable = group.upstreams.filter(
        upstream => !query.failed.has(upstream) && upstream.usable_in_ms(query.now_ms) === 0,
      );
      const free = usable.filter(({ provider }) => provider.bulkhead.hasPermit);
      const ready = free.filter(upstream => this.#isInShare(upstream, query));
      if (ready.length > 0) return { when: 'now', upstream: this.#chosen(ready, query) };
      if (free.length > 0) {
        recovering ??= free;
        continue;
      }
      const queueing = usable.filter(({ provider }) => provider.bulkhead.hasQueueRoom);
      if (queueing.length > 0) return { when: 'queued', upstream: this.#chosen(queueing, query) };
    }
    return recovering && { when: 'now', upstream: this.#chosen(recovering, query) };
  }

  /** The better of two that can be tried now, of many; undefined where a few draws do not find them. */
  #drawnOf(group: WeightedGroup, query: UpstreamQuery): Upstream | undefined {
    if (group.upstreams.length < many || query.affinity_key !== undefined || this.#strategy) return undefined;
    let first: Upstream | undefined;
    for (let draws = 0; draws < most_draws; draws++) {
      const upstream = group.drawn(this.#random());
      if (upstream === first || query.failed.has(upstream)) continue;
      if (upstream.usable_in_ms(query.now_ms) > 0 || !upstream.provider.bulkhead.hasPermit) continue;
      if (!this.#isInShare(upstream, query)) continue;
      if (first) return betterOfTwo(candidateOf(first, query), candidateOf(upstream, query)).upstream;
      first = upstream;
    }
    return undefined;
  }

  /** Whether this request is in the share of a recovering upstream; with an affinity key, decided by conversation. */
  #isInShare({ provider, seed }: Upstream, { affinity_key }: UpstreamQuery): boolean {
    const { share } = provider.breaker;
    if (share === 1) return true;
    return (affinity_key === undefined ? this.#random() : uniform(affinity_key ^ seed ^ share_salt)) < share;
  }

  #chosen(upstreams: readonly Upstream[], query: UpstreamQuery): Upstream {
    if (upstreams.length === 1) return upstreams[0]!;
    const { affinity_key } = query;
    const candidates = upstreams.map(upstream => candidateOf(upstream, query));
    const chosen =
      affinity_key === undefined
        ? (this.#strategy ?? chooseOfTwo)(candidates, this.#random)
        : chooseSticky(candidates, affinity_key, this.options.sticky_overload);
    return chosen.upstream;
  }

  /** If none is usable: the one that will be usable first, or none. None is asked above its quota. */
  #lastResort({ now_ms }: UpstreamQuery): Selection {
    const open = this.#open;
    if (open.length === 0) return { when: 'never', why: 'closed', usable_in_ms: Number.POSITIVE_INFINITY };
    const within = open.filter(({ quota }) => !quota || quota.free_in_ms() === 0);
    if (within.length === 0)
      return { when: 'never', why: 'limited', usable_in_ms: soonest(open, now_ms).usable_in_ms };
    const { upstream, usable_in_ms } = soonest(within, now_ms);
    // A usable upstream has no free permit here, or it would have been selected.
    if (usable_in_ms === 0 || !upstream) return { when: 'never', why: 'full', usable_in_ms };
    if (this.options.when_all_unavailable === 'refuse')
      return { when: 'never', why: 'unusable', usable_in_ms };
    return { when: 'now', upstream };
  }

  /** Selects one that has failed in this exchange: the one that will be usable first. */
  #again({ failed, now_ms }: UpstreamQuery): Selection {
    const { retries_per_upstream } = this.options;
    const left = this.upstreams.filter(
      upstream => (failed.get(upstream) ?? Number.POSITIVE_INFINITY) <= retries_per_upstream,
    );
    const { upstream, usable_in_ms } = soonest(left, now_ms);
    if (!upstream || usable_in_ms === Number.POSITIVE_INFINITY)
      return { when: 'never', why: 'unusable', usable_in_ms };
    return { when: 'later', upstream, wait_ms: usable_in_ms };
  }
}

function groupsOf(upstreams: readonly Upstream[]): WeightedGroup[] {
  const byPriority = Map.groupBy(upstreams, ({ priority }) => priority);
  return [...byPriority].sort(([a], [b]) => a - b).map(([, group]) => new WeightedGroup(group));
}

const candidateOf = (
  upstream: Upstream,
  { request, now_ms }: UpstreamQuery,
): Candidate & { upstream: Upstream } => ({
  upstream,
  weight: upstream.control?.weight ?? upstream.weight,
  seed: upstream.seed,
  in_flight: upstream.provider.bulkhead.in_flight,
  latency_ms: upstream.latency_ms(request.stream, now_ms),
});

/** The upstream with a free permit that is usable first, and the milliseconds until any is usable, with a permit or without. */
function soonest(upstreams: readonly Upstream[], now_ms: number) {
  let upstream: Upstream | undefined;
  let upstream_in_ms = Number.POSITIVE_INFINITY;
  let usable_in_ms = Number.POSITIVE_INFINITY;
  for (const candidate of upstreams) {
    const in_ms = candidate.usable_in_ms(now_ms);
    usable_in_ms = Math.min(usable_in_ms, in_ms);
    if (!candidate.provider.bulkhead.hasPermit || (upstream && in_ms >= upstream_in_ms)) continue;
    upstream = candidate;
    upstream_in_ms = in_ms;
  }
  return { upstream, usable_in_ms };
}
