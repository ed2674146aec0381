import type { RoutingOptions } from '../../catalog/routing-schema.ts';
import type { Clock } from '../../clock.ts';
import { chooseOfTwo, chooseSticky, uniform } from './choose-upstream.ts';
import { RetryBudget } from './retry-budget.ts';
import type { Upstream } from './upstream.ts';

/** What is asked of a route. */
export interface Question {
  readonly stream: boolean;
  readonly now_ms: number;
  /** How often each upstream was asked in this exchange already. */
  readonly asked: ReadonlyMap<Upstream, number>;
  /** The conversation's 32 bits, where conversations stay where they were. */
  readonly conversation: number | undefined;
}

/** Who is to be asked, and when; or why nobody is. */
export type Pick =
  | { readonly when: 'now' | 'in turn'; readonly upstream: Upstream }
  | { readonly when: 'later'; readonly upstream: Upstream; readonly wait_ms: number }
  | { readonly when: 'never'; readonly why: 'full' | 'unusable'; readonly usable_in_ms: number };

/** Keeps the draw of a recovering upstream's share apart from the one that ranks it. */
const share_salt = 0x5bd1e995;

/** One model's upstreams by priority, and who of them is asked next. */
export class LoadBalancer {
  readonly options: RoutingOptions;
  readonly budget: RetryBudget;
  /** Another attempt can follow a failed one. */
  readonly hasOthers: boolean;
  /** Conversations stay where they were. */
  readonly isSticky: boolean;
  readonly #groups: readonly (readonly Upstream[])[];
  readonly #all: readonly Upstream[];
  readonly #random: () => number;
  readonly #only: { readonly when: 'now'; readonly upstream: Upstream } | undefined;

  constructor(
    upstreams: readonly Upstream[],
    options: RoutingOptions,
    clock: Clock,
    random: () => number = Math.random,
  ) {
    this.options = options;
    this.budget = new RetryBudget(options, clock);
    this.hasOthers = options.max_attempts > 1 && (upstreams.length > 1 || options.retries_per_upstream > 0);
    this.isSticky = options.sticky === 'conversation' && upstreams.length > 1;
    const byPriority = Map.groupBy(upstreams, ({ standing }) => standing.priority);
    this.#groups = [...byPriority].sort(([a], [b]) => a - b).map(([, group]) => group);
    this.#all = this.#groups.flat();
    this.#random = random;
    this.#only =
      upstreams.length === 1 && options.when_unusable === 'ask'
        ? { when: 'now', upstream: upstreams[0]! }
        : undefined;
  }

  /** All upstreams, first priority first. */
  get upstreams(): readonly Upstream[] {
    return this.#all;
  }

  /** The next to be asked. An upstream that was asked already is asked again only when there is no other. */
  next(question: Question): Pick {
    if (this.#only?.upstream.provider.bulkhead.hasPlace && question.asked.size === 0) return this.#only;
    const fresh = this.#fresh(question);
    if (fresh) return fresh;
    return question.asked.size === 0 ? this.#lastResort(question) : this.#again(question);
  }

  /** One of those that were not asked: of the first priority that has any to ask. */
  #fresh(question: Question): Pick | undefined {
    let recovering: readonly Upstream[] | undefined;
    for (const group of this.#groups) {
      const usable = group.filter(
        upstream => !question.asked.has(upstream) && upstream.usable_in_ms(question.now_ms) === 0,
      );
      const free = usable.filter(({ provider }) => provider.bulkhead.hasPlace);
      const ready = free.filter(upstream => this.#takesPart(upstream, question));
      if (ready.length > 0) return { when: 'now', upstream: this.#chosen(ready, question) };
      if (free.length > 0) {
        recovering ??= free;
        continue;
      }
      const queueing = usable.filter(({ provider }) => provider.bulkhead.hasQueuePlace);
      if (queueing.length > 0) return { when: 'in turn', upstream: this.#chosen(queueing, question) };
    }
    return recovering && { when: 'now', upstream: this.#chosen(recovering, question) };
  }

  /** Whether one that has just recovered gets this request; a conversation that it gets stays with it. */
  #takesPart({ provider, seed }: Upstream, { conversation }: Question): boolean {
    const { share } = provider.breaker;
    if (share === 1) return true;
    return (conversation === undefined ? this.#random() : uniform(conversation ^ seed ^ share_salt)) < share;
  }

  #chosen(upstreams: readonly Upstream[], { stream, now_ms, conversation }: Question): Upstream {
    if (upstreams.length === 1) return upstreams[0]!;
    const candidates = upstreams.map(upstream => upstream.candidate(stream, now_ms));
    const chosen =
      conversation === undefined
        ? chooseOfTwo(candidates, this.#random)
        : chooseSticky(candidates, conversation, this.options.sticky_overload);
    return chosen.upstream;
  }

  /** Nobody may be asked, and nobody was: the one that may be asked soonest, or no one. */
  #lastResort({ now_ms }: Question): Pick {
    const { upstream, usable_in_ms } = soonest(this.#all, now_ms);
    // Whoever is usable has no place, or it would have been chosen.
    if (usable_in_ms === 0 || !upstream) return { when: 'never', why: 'full', usable_in_ms };
    if (this.options.when_unusable === 'refuse') return { when: 'never', why: 'unusable', usable_in_ms };
    return { when: 'now', upstream };
  }

  /** One that has failed in this exchange, once more: the one that may be asked soonest. */
  #again({ asked, now_ms }: Question): Pick {
    const { retries_per_upstream } = this.options;
    const left = this.#all.filter(
      upstream => (asked.get(upstream) ?? Number.POSITIVE_INFINITY) <= retries_per_upstream,
    );
    const { upstream, usable_in_ms } = soonest(left, now_ms);
    if (!upstream || usable_in_ms === Number.POSITIVE_INFINITY)
      return { when: 'never', why: 'unusable', usable_in_ms };
    return { when: 'later', upstream, wait_ms: usable_in_ms };
  }
}

/** The one with a free place that may be asked soonest, and how soon anyone may, with a place or without. */
function soonest(upstreams: readonly Upstream[], now_ms: number) {
  let found: Upstream | undefined;
  let found_in_ms = Number.POSITIVE_INFINITY;
  let usable_in_ms = Number.POSITIVE_INFINITY;
  for (const upstream of upstreams) {
    const in_ms = upstream.usable_in_ms(now_ms);
    usable_in_ms = Math.min(usable_in_ms, in_ms);
    if (!upstream.provider.bulkhead.hasPlace || (found && in_ms >= found_in_ms)) continue;
    found = upstream;
    found_in_ms = in_ms;
  }
  return { upstream: found, usable_in_ms };
}
