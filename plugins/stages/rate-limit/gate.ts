import {
  type ChatRequest,
  defineKey,
  type Exchange,
  type Limit,
  type LimitMetrics,
  type LimitSet,
  nanoUsdOf,
  type Outcome,
  refusal,
  type StageSetup,
  type Standing,
  type StateStore,
  type Taken,
  type Ticket,
} from '../../../src/plugin.ts';
import { AccountPlans } from './account-plans.ts';
import { Forecast } from './forecast.ts';
import { addRateHeaders, retryHeaders } from './headers.ts';
import { addIetfHeaders } from './ietf-headers.ts';
import { refusalMessage } from './message.ts';
import type { RateLimitOptions } from './options.ts';
import { expectedUse, roughPrompt } from './reservation.ts';

/** What an exchange has been told, and what it holds until its end if it was admitted. */
interface Decision {
  readonly ticket: Ticket | undefined;
  readonly limits: LimitSet;
  readonly rough_prompt: number;
}

function headroom(standings: readonly Standing[], of: Limit): number {
  const remaining = standings.find(({ limit }) => limit === of)?.remaining ?? 0;
  return remaining / of.max;
}

/** What a dry run would have refused. */
function reportOver(exchange: Exchange, { over }: Ticket): void {
  const names = over.map(({ name, model }) => (model === undefined ? name : `${name} of ${model}`));
  exchange.replyHeaders['x-ratelimit-dry-run'] = [...new Set(over.map(({ name }) => name))].join(', ');
  if (exchange.isLogged('info'))
    exchange.log.info({ account: exchange.account?.id, limits: names }, 'over a limit, let in by a dry run');
}

/** Where requests without an account are counted; no account can be called this. */
const nobody = '';
/** Whatever clients call models that are in no catalog: they must not be able to have more and more remembered. */
const unlisted = '';

/** Lets exchanges in as far as the limits of their accounts go, and settles what they have used. */
export class Gate {
  readonly #options: RateLimitOptions;
  readonly #state: StateStore;
  readonly #metrics: LimitMetrics;
  readonly #plans: AccountPlans;
  readonly #forecast: Forecast;
  /** Names leases, together with the number of the exchange: a client chooses the id of its exchange. */
  readonly #name: string;
  #exchanges = 0;
  /** Of this gate alone: one exchange may pass several. */
  readonly #decision = defineKey<Decision>('what rate-limit has decided');

  constructor(options: RateLimitOptions, setup: StageSetup, name: string) {
    this.#options = options;
    this.#state = setup.state;
    this.#metrics = setup.metrics;
    this.#plans = new AccountPlans(options.plans ?? setup.plans, options.limits, setup.catalog);
    this.#forecast = new Forecast(options.initial_completion_tokens);
    this.#name = name;
  }

  /** Takes what the exchange will probably use, or throws 429. Without a promise where the store needs none. */
  admit(exchange: Exchange, request: ChatRequest | undefined): void | Promise<void> {
    const { model } = exchange;
    const account = exchange.account?.id ?? nobody;
    const limits = this.#plans.limitsOf(exchange.account).of(model?.id);
    if (limits.limits.length === 0) return;
    const { countsTokens, countsMoney } = limits;
    const rough_prompt = request && (countsTokens || countsMoney) ? roughPrompt(request) : 0;
    const { dry_run } = this.#options;
    const habit = this.#forecast.of(account, model?.id ?? unlisted);
    const reserve = request
      ? expectedUse(limits, rough_prompt, { request, model, habit })
      : { requests: 1, tokens: 0, nano_usd: 0 };
    const id = `${this.#name}-${++this.#exchanges}`;
    const taken = this.#state.take({ id, account, limits: limits.limits, reserve, force: dry_run });
    return taken instanceof Promise
      ? taken.then(answer => this.#decide(exchange, answer, limits, rough_prompt))
      : this.#decide(exchange, taken, limits, rough_prompt);
  }

  #decide(exchange: Exchange, taken: Taken, limits: LimitSet, rough_prompt: number): void {
    const { standings } = taken;
    const ticket = taken.admitted ? taken.ticket : undefined;
    exchange.set(this.#decision, { ticket, limits, rough_prompt });
    this.#addHeaders(exchange, standings);
    if (taken.admitted) {
      this.#count(standings, taken.ticket);
      if (taken.ticket.over.length > 0) reportOver(exchange, taken.ticket);
      return;
    }
    const { refused_by, retry_ms } = taken;
    this.#metrics.limitDecided(refused_by.name, 'refused', headroom(standings, refused_by));
    throw refusal('rate_limited', {
      message: refusalMessage(refused_by, retry_ms, exchange.clock.epoch_ms()),
      headers: retryHeaders(retry_ms),
    });
  }

  #count(standings: readonly Standing[], { over }: Ticket): void {
    for (const { limit, remaining } of standings) {
      const decision = over.length > 0 && over.includes(limit) ? 'over' : 'admitted';
      this.#metrics.limitDecided(limit.name, decision, remaining / limit.max);
    }
  }

  /** Headers for an error of an exchange that has not got as far as to take anything; as this process last heard, since nothing waits for them. */
  tell(exchange: Exchange): void {
    const { account, model, endpoint } = exchange;
    if (!account || endpoint.public || exchange.get(this.#decision)) return;
    const { limits } = this.#plans.limitsOf(account).of(model?.id);
    if (limits.length === 0) return;
    this.#addHeaders(exchange, this.#state.recall(account.id, limits));
  }

  #addHeaders(exchange: Exchange, standings: readonly Standing[]): void {
    addRateHeaders(exchange.replyHeaders, standings);
    if (this.#options.ietf_headers) addIetfHeaders(exchange.replyHeaders, standings);
  }

  /** Puts what was used in place of what was reserved. What no upstream was asked for counts as no request. */
  settle(exchange: Exchange, outcome: Outcome): void {
    const decision = exchange.get(this.#decision);
    if (!decision?.ticket) return;
    const { usage, attempts } = outcome;
    const tokens = usage.prompt_tokens + usage.completion_tokens;
    const nano_usd = decision.limits.countsMoney ? (nanoUsdOf(outcome.cost_usd) ?? 0) : 0;
    decision.ticket.settle({ requests: attempts > 0 ? 1 : 0, tokens, nano_usd });
    if (tokens > 0 && exchange.hasRequest) this.#learn(exchange, decision.rough_prompt, usage);
  }

  #learn({ account, request, model }: Exchange, rough_prompt: number, usage: Outcome['usage']): void {
    const choices = request.n ?? 1;
    const cap = request.max_tokens ?? model?.max_completion_tokens;
    this.#forecast.learn(account?.id ?? nobody, model?.id ?? unlisted, {
      estimated_prompt: rough_prompt,
      prompt: usage.estimated ? 0 : usage.prompt_tokens,
      completion: usage.completion_tokens,
      choices,
      isCut: cap !== undefined && usage.completion_tokens >= cap * choices,
    });
  }
}
