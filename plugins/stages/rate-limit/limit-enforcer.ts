import {
  type AccountLimits,
  type Catalog,
  type Charge,
  defineKey,
  type Exchange,
  type GatewayError,
  type Hooks,
  type Limit,
  type LimitStatus,
  type Model,
  type Outcome,
  type Reservation,
  type ReservationResult,
  restrictFallbacks,
  rootOf,
  type StageSetup,
  type StateStore,
} from '../../../src/plugin.ts';
import { AccountPlans } from './account-plans.ts';
import { overOf, reportOver, tooSmall } from './dry-run.ts';
import { LimitMetrics } from './limit-metrics.ts';
import { limitRefusal, type RefusedCharge } from './limit-refusal.ts';
import type { CheckedOptions } from './options-schema.ts';
import { addIetfHeaders, addRateHeaders } from './rate-limit-headers.ts';
import {
  actualUse,
  dearestOf,
  estimatePromptTokens,
  expectedUse,
  type MostUse,
  mostUse,
  withinLeft,
} from './request-charge.ts';
import { SoftLimits } from './soft-limits.ts';
import { UnreadForecast, UsageForecast } from './usage-forecast.ts';

/** Account name for requests without an account; no account has this name. */
const no_account = '';
const none = [] as const;
const oneRequest: Charge = { requests: 1, tokens: 0, nano_usd: 0 };
/** One name for all models outside the catalog: clients must not be able to fill the memory with names. */
const unlisted = '';

/** The reservations of an exchange, and its account's limit status at that time. */
interface Held {
  readonly account: string;
  /** Under which it is counted: the root of the account's tree. */
  readonly root: string;
  /** In order; settled together. */
  reservations: readonly Reservation[];
  /** The limits that a dry run has exceeded. */
  over: readonly Limit[];
  /** What the exchange has used, once it has ended. */
  used: Charge | undefined;
  statuses: readonly LimitStatus[];
  refused_by: Limit | undefined;
  /** True once all limits of the exchange have decided: `statuses` is complete. */
  isComplete: boolean;
  countsMoney: boolean;
  estimated_prompt: number;
  /** Set if a limit on tokens or money is hard. */
  most: MostUse | undefined;
  /** The model at whose price it is; undefined outside the catalog. */
  priced_as: Model | undefined;
  /** True once `most` is reserved. */
  hasCeiling: boolean;
}

/** Reserves what exchanges may use within the limits of their accounts and keys, and settles what they have used. */
export class LimitEnforcer implements Hooks {
  readonly takesTokens = true;
  readonly #metrics: LimitMetrics;
  readonly #options: CheckedOptions;
  readonly #state: StateStore;
  readonly #catalog: Catalog;
  readonly #plans: AccountPlans;
  readonly #soft: SoftLimits;
  readonly #forecast: UsageForecast;
  readonly #unread = new UnreadForecast();
  /** Running exchanges of each account, with those below it, that have reserved the most they may use. */
  readonly #ceilings = new Map<string, number>();
  /** Private to this stage instance: an exchange may pass several. */
  readonly #held = defineKey<Held>('what rate-limit has reserved');

  constructor(options: CheckedOptions, setup: StageSetup) {
    this.#options = options;
    this.#state = setup.state;
    this.#catalog = setup.catalog;
    this.#metrics = new LimitMetrics(setup);
    this.#plans = new AccountPlans(options.plans ?? setup.plans, options.limits, setup);
    this.#soft = new SoftLimits(setup.clock);
    this.#forecast = new UsageForecast(options.initial_completion_tokens);
  }

  /** Whether the exchange counts under limits that need its request: on tokens, money or single models. */
  mustRead({ account }: Exchange): boolean {
    if (this.#options.dry_run) return false;
    const limits = this.#plans.limitsOf(account);
    return limits.models.length > 0 || limits.of(undefined).withRequest.length > 0;
  }

  /**
   * Reserves one request and one unit of concurrency, or throws 429. If the body is passed on unread, every limit decides now, because nothing
   * more will be known: by what recent ones of the account have used, a hard one by the most that this may use, or all that is left.
   * Synchronous if the store is.
   */
  onHeaders(exchange: Exchange): void | Promise<void> {
    const { endpoint } = exchange;
    if (endpoint.public || endpoint.uncounted) return;
    const set = this.#plans.limitsOf(exchange.account).of(undefined);
    const isUnread = endpoint.name === 'passthrough' || endpoint.name === 'unknown';
    const limits = isUnread ? set.limits : set.beforeBody;
    if (limits.length === 0) return;
    const held = this.#hold(exchange);
    held.isComplete = isUnread;
    held.countsMoney = isUnread && set.countsMoney;
    if (!isUnread || (!set.countsTokens && !set.countsMoney))
      return this.#reserve(exchange, held, limits, oneRequest);
    const charge = this.#unread.of(held.account);
    const most = set.isHard ? endpoint.mostUse?.(exchange) : undefined;
    if (!most) return this.#reserve(exchange, held, limits, charge);
    const statuses = this.#state.statuses(held.root, limits);
    const reserve = (statuses: readonly LimitStatus[]) =>
      this.#reserve(exchange, held, limits, { ...charge, ceiling: withinLeft(most, statuses) });
    return statuses instanceof Promise ? statuses.then(reserve) : reserve(statuses);
  }

  /** Reserves the expected usage under the other limits, or throws 429. */
  onRequest(exchange: Exchange): void | Promise<void> {
    const { request, endpoint } = exchange;
    const account = exchange.account?.id ?? no_account;
    const sets = this.#plans.limitsOf(exchange.account);
    const set = sets.of(exchange.model?.id);
    const model = exchange.model?.fallbacks ? this.#dearest(exchange, exchange.model, sets) : exchange.model;
    const before = exchange.get(this.#held);
    // An account found only with the body has reserved nothing yet.
    const limits = before?.account === account ? set.withRequest : set.limits;
    if (limits.length === 0) return;
    const held = before?.account === account ? before : this.#hold(exchange, before);
    const generates = endpoint.generates !== false;
    const counts = generates && (set.countsTokens || set.countsMoney);
    const estimated_prompt = counts ? estimatePromptTokens(request) : 0;
    const expected = { request, model, average: this.#forecast.of(account, model?.id ?? unlisted) };
    held.isComplete = true;
    held.countsMoney = set.countsMoney;
    held.estimated_prompt = estimated_prompt;
    held.most = counts && set.isHard ? mostUse(estimated_prompt, expected) : undefined;
    held.priced_as = model;
    const charge = counts ? expectedUse(set, estimated_prompt, expected, held.most) : oneRequest;
    return this.#reserve(exchange, held, limits, charge);
  }

  /** The dearest that may answer. A model that has limits of its own may not take another's place, since they have not decided. */
  #dearest(exchange: Exchange, model: Model, { models: limited }: AccountLimits): Model {
    const isUnlimited = (id: string) => !limited.includes(id);
    restrictFallbacks(exchange, isUnlimited);
    const ids = Object.values(model.fallbacks ?? {}).flatMap(ids => ids ?? []);
    const others = ids.filter(isUnlimited).flatMap(id => this.#catalog.find(id) ?? []);
    return dearestOf([model, ...others]);
  }

  #hold(exchange: Exchange, before?: Held): Held {
    const { account } = exchange;
    const held: Held = {
      account: account?.id ?? no_account,
      root: account?.parents ? rootOf(account) : (account?.id ?? no_account),
      reservations: before?.reservations ?? none,
      over: before?.over ?? none,
      used: undefined,
      statuses: none,
      refused_by: undefined,
      isComplete: false,
      countsMoney: false,
      estimated_prompt: 0,
      most: undefined,
      priced_as: undefined,
      hasCeiling: false,
    };
    exchange.set(this.#held, held);
    return held;
  }

  #reserve(exchange: Exchange, held: Held, limits: readonly Limit[], charge: Charge): void | Promise<void> {
    const { root: account } = held;
    const force = this.#options.dry_run;
    const limit = charge.ceiling && !force ? tooSmall(limits, charge) : undefined;
    if (limit) {
      const [{ remaining } = { remaining: limit.max }] = this.#state.knownStatuses(account, [limit]);
      this.#refuse(exchange, held, { limit, charge, remaining, retry_ms: Number.POSITIVE_INFINITY });
    }
    const result = this.#state.reserve({ account, limits, charge, force });
    return result instanceof Promise
      ? this.#decideLater(exchange, held, charge, result)
      : this.#decide(exchange, held, charge, result);
  }

  async #decideLater(
    exchange: Exchange,
    held: Held,
    charge: Charge,
    result: Promise<ReservationResult>,
  ): Promise<void> {
    this.#decide(exchange, held, charge, await result);
  }

  #decide(exchange: Exchange, held: Held, charge: Charge, result: ReservationResult): void {
    const { statuses } = result;
    // The exchange has ended without waiting: its hook was given up.
    if (held.used) return result.admitted ? result.reservation.settle(held.used) : undefined;
    const before = held.statuses.length;
    held.statuses = before === 0 ? statuses : held.statuses.concat(statuses);
    if (!result.admitted) {
      const { refused_by, retry_ms } = result;
      const { remaining = 0 } = statuses.find(({ limit }) => limit === refused_by) ?? {};
      this.#refuse(exchange, held, { limit: refused_by, charge, remaining, retry_ms });
    }
    held.reservations =
      held.reservations.length === 0 ? [result.reservation] : [...held.reservations, result.reservation];
    if (charge.ceiling) {
      held.hasCeiling = true;
      this.#countCeiling(held.root, 1);
    }
    this.#addHeaders(exchange, held.statuses, undefined, before);
    const over = this.#options.dry_run ? overOf(result, charge) : none;
    const soft = this.#metrics.admitted(held, statuses, over);
    if (soft) this.#soft.reached(exchange, soft);
    if (over.length === 0) return;
    held.over = [...held.over, ...over];
    reportOver(exchange, held.over);
  }

  #refuse(exchange: Exchange, held: Held, refused: RefusedCharge): never {
    const { limit, remaining, retry_ms } = refused;
    held.refused_by = limit;
    this.#addHeaders(exchange, held.statuses, limit);
    this.#metrics.refused(held, { limit, remaining, reset_ms: retry_ms });
    throw limitRefusal(exchange, refused, held, this.#ceilings.has(held.root));
  }

  #countCeiling(root: string, change: 1 | -1): void {
    const count = (this.#ceilings.get(root) ?? 0) + change;
    if (count > 0) this.#ceilings.set(root, count);
    else this.#ceilings.delete(root);
  }

  /** Adds the account's limit status to every error: of limits that have not decided, the last known one. */
  onError(exchange: Exchange, error: GatewayError): GatewayError {
    const { account, model, endpoint } = exchange;
    const held = exchange.get(this.#held);
    if (!account || endpoint.public || endpoint.uncounted || held?.isComplete) return error;
    const set = this.#plans.limitsOf(account).of(model?.id);
    const undecided = held ? set.withRequest : set.limits;
    if (undecided.length === 0) return error;
    const known = this.#state.knownStatuses(rootOf(account), undecided);
    this.#addHeaders(exchange, [...(held?.statuses ?? []), ...known], held?.refused_by);
    return error;
  }

  /** The first `added` statuses have been added before. */
  #addHeaders(
    { replyHeaders }: Exchange,
    statuses: readonly LimitStatus[],
    refused_by: Limit | undefined,
    added = 0,
  ): void {
    addRateHeaders(replyHeaders, statuses, refused_by, added);
    if (this.#options.ietf_headers) addIetfHeaders(replyHeaders, statuses);
  }

  async close(): Promise<void> {
    this.#metrics.close();
  }

  /** Replaces all reservations by the actual usage. */
  onSettled(exchange: Exchange, outcome: Outcome): void {
    const held = exchange.get(this.#held);
    if (!held) return;
    const used = actualUse(held, outcome);
    held.used = used;
    if (held.hasCeiling) this.#countCeiling(held.root, -1);
    const { reservations } = held;
    for (let at = 0; at < reservations.length; at++) reservations[at]!.settle(used);
    if (used.tokens === 0 || reservations.length === 0) return;
    if (exchange.hasRequest) this.#learn(exchange, held.estimated_prompt, outcome.usage);
    else this.#unread.learn(held.account, used);
  }

  #learn(exchange: Exchange, estimated_prompt: number, usage: Outcome['usage']): void {
    const { request, model } = exchange;
    const choices = request.n ?? 1;
    const cap = request.max_tokens ?? model?.max_completion_tokens;
    this.#forecast.learn(exchange.account?.id ?? no_account, model?.id ?? unlisted, {
      estimated_prompt,
      prompt: usage.estimated ? 0 : usage.prompt_tokens,
      completion: usage.completion_tokens,
      choices,
      isCut: cap !== undefined && usage.completion_tokens >= cap * choices,
    });
  }
}
