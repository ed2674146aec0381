import { randomUUID } from 'node:crypto';
import {
  type Charge,
  defineKey,
  type Exchange,
  type Limit,
  type LimitStatus,
  limitLabel,
  type Outcome,
  type Reservation,
  type ReservationResult,
  refusal,
  type StageSetup,
  type StateStore,
} from '../../../src/plugin.ts';
import { AccountPlans } from './account-plans.ts';
import { LimitMetrics } from './limit-metrics.ts';
import type { CheckedOptions } from './options-schema.ts';
import { addIetfHeaders, addRateHeaders, retryHeaders } from './rate-limit-headers.ts';
import { refusalMessage } from './refusal-message.ts';
import { actualUse, estimatePromptTokens, expectedUse } from './request-charge.ts';
import { UsageForecast } from './usage-forecast.ts';

/** The reservations of an exchange, and its account's limit status at that time. */
interface Held {
  readonly account: string;
  /** In order; settled together. */
  readonly reservations: Reservation[];
  statuses: readonly LimitStatus[];
  refused_by: Limit | undefined;
  /** True once all limits of the exchange have decided: `statuses` is complete. */
  isComplete: boolean;
  countsMoney: boolean;
  estimated_prompt: number;
}

/** Reports in a header and in the log the limits that a dry run would have refused, including those before the body. */
function reportOver(exchange: Exchange, reservations: readonly Reservation[]): void {
  const over = reservations.flatMap(reservation => reservation.over);
  const names = over.map(limit =>
    limit.model === undefined ? limitLabel(limit) : `${limitLabel(limit)} of ${limit.model}`,
  );
  exchange.replyHeaders['x-ratelimit-dry-run'] = [...new Set(over.map(limitLabel))].join(', ');
  if (exchange.isLogged('info'))
    exchange.log.info({ account: exchange.account?.id, limits: names }, 'over a limit, admitted by dry_run');
}

/** Account name for requests without an account; no account has this name. */
const no_account = '';
const idOf = ({ account }: Exchange): string => account?.id ?? no_account;
const oneRequest: Charge = { requests: 1, tokens: 0, nano_usd: 0 };
/** One name for all models outside the catalog: clients must not be able to fill the memory with names. */
const unlisted = '';

/** Admits exchanges within the limits of their accounts and keys, and settles what they have used. */
export class LimitEnforcer {
  readonly metrics: LimitMetrics;
  readonly #options: CheckedOptions;
  readonly #state: StateStore;
  readonly #plans: AccountPlans;
  readonly #forecast: UsageForecast;
  /** Prefix of lease names, with the number of the reservation: the id of an exchange is chosen by its client. */
  readonly #name = randomUUID();
  #reservations = 0;
  /** Private to this stage instance: an exchange may pass several. */
  readonly #held = defineKey<Held>('what rate-limit has reserved');

  constructor(options: CheckedOptions, setup: StageSetup) {
    this.#options = options;
    this.#state = setup.state;
    this.metrics = new LimitMetrics(setup);
    this.#plans = new AccountPlans(options.plans ?? setup.plans, options.limits, setup.catalog);
    this.#forecast = new UsageForecast(options.initial_completion_tokens);
  }

  /**
   * Reserves one request and one unit of concurrency, or throws 429. If the body is passed on unread, every limit decides now, because
   * nothing more will be known. Synchronous if the store is.
   */
  reserveBeforeBody(exchange: Exchange): void | Promise<void> {
    const { endpoint } = exchange;
    if (endpoint.public) return;
    const set = this.#plans.limitsOf(exchange.account).of(undefined);
    const isUnread = endpoint.name === 'passthrough' || endpoint.name === 'unknown';
    const limits = isUnread ? set.limits : set.beforeBody;
    if (limits.length === 0) return;
    const held = this.#hold(exchange);
    held.isComplete = isUnread;
    held.countsMoney = isUnread && set.countsMoney;
    return this.#reserve(exchange, held, limits, oneRequest);
  }

  /** Reserves the expected usage under the other limits, or throws 429. */
  reserveWithRequest(exchange: Exchange): void | Promise<void> {
    const { model, request, endpoint } = exchange;
    const account = idOf(exchange);
    const set = this.#plans.limitsOf(exchange.account).of(model?.id);
    const before = exchange.get(this.#held);
    // An account found only with the body has reserved nothing yet.
    const limits = before?.account === account ? set.withRequest : set.limits;
    if (limits.length === 0) return;
    const held = before?.account === account ? before : this.#hold(exchange, before?.reservations);
    const generates = endpoint.generates !== false;
    const counts = generates && (set.countsTokens || set.countsMoney);
    const estimated_prompt = counts ? estimatePromptTokens(request) : 0;
    const average = this.#forecast.of(account, model?.id ?? unlisted);
    held.isComplete = true;
    held.countsMoney = set.countsMoney;
    held.estimated_prompt = estimated_prompt;
    const expected = counts ? expectedUse(set, estimated_prompt, { request, model, average }) : oneRequest;
    return this.#reserve(exchange, held, limits, expected);
  }

  #hold(exchange: Exchange, reservations: Reservation[] = []): Held {
    const held: Held = {
      account: idOf(exchange),
      reservations,
      statuses: [],
      refused_by: undefined,
      isComplete: false,
      countsMoney: false,
      estimated_prompt: 0,
    };
    exchange.set(this.#held, held);
    return held;
  }

  #reserve(exchange: Exchange, held: Held, limits: readonly Limit[], charge: Charge): void | Promise<void> {
    const id = `${this.#name}-${++this.#reservations}`;
    const { account } = held;
    const result = this.#state.reserve({ id, account, limits, charge, force: this.#options.dry_run });
    return result instanceof Promise
      ? result.then(answer => this.#decide(exchange, held, answer))
      : this.#decide(exchange, held, result);
  }

  #decide(exchange: Exchange, held: Held, result: ReservationResult): void {
    const { statuses } = result;
    held.statuses = held.statuses.length === 0 ? statuses : [...held.statuses, ...statuses];
    if (result.admitted) {
      held.reservations.push(result.reservation);
      this.#addHeaders(exchange, held.statuses, undefined);
      const { over } = result.reservation;
      for (const status of statuses)
        this.metrics.decided(held.account, status, over.includes(status.limit) ? 'over' : 'admitted');
      if (over.length > 0) reportOver(exchange, held.reservations);
      return;
    }
    const { refused_by, retry_ms } = result;
    held.refused_by = refused_by;
    this.#addHeaders(exchange, held.statuses, refused_by);
    const { remaining = 0 } = statuses.find(({ limit }) => limit === refused_by) ?? {};
    this.metrics.decided(held.account, { limit: refused_by, remaining, reset_ms: retry_ms }, 'refused');
    throw refusal('rate_limited', {
      message: refusalMessage(refused_by, retry_ms, exchange.clock.epoch_ms()),
      headers: retryHeaders(retry_ms),
      limit: limitLabel(refused_by),
    });
  }

  /** Adds the last known status of limits that have not decided to the headers of an error. */
  addKnownStatuses(exchange: Exchange): void {
    const { account, model, endpoint } = exchange;
    const held = exchange.get(this.#held);
    if (!account || endpoint.public || held?.isComplete) return;
    const set = this.#plans.limitsOf(account).of(model?.id);
    const undecided = held ? set.withRequest : set.limits;
    if (undecided.length === 0) return;
    const known = this.#state.knownStatuses(account.id, undecided);
    this.#addHeaders(exchange, [...(held?.statuses ?? []), ...known], held?.refused_by);
  }

  #addHeaders(exchange: Exchange, statuses: readonly LimitStatus[], refused_by: Limit | undefined): void {
    addRateHeaders(exchange.replyHeaders, statuses, refused_by);
    if (this.#options.ietf_headers) addIetfHeaders(exchange.replyHeaders, statuses);
  }

  /** Replaces all reservations by the actual usage. */
  settle(exchange: Exchange, outcome: Outcome): void {
    const held = exchange.get(this.#held);
    if (!held || held.reservations.length === 0) return;
    const used = actualUse(held, outcome);
    for (const reservation of held.reservations) reservation.settle(used);
    if (used.tokens > 0 && exchange.hasRequest) this.#learn(exchange, held.estimated_prompt, outcome.usage);
  }

  #learn(exchange: Exchange, estimated_prompt: number, usage: Outcome['usage']): void {
    const { request, model } = exchange;
    const choices = request.n ?? 1;
    const cap = request.max_tokens ?? model?.max_completion_tokens;
    this.#forecast.learn(idOf(exchange), model?.id ?? unlisted, {
      estimated_prompt: estimated_prompt,
      prompt: usage.estimated ? 0 : usage.prompt_tokens,
      completion: usage.completion_tokens,
      choices,
      isCut: cap !== undefined && usage.completion_tokens >= cap * choices,
    });
  }
}
