import { rateLimit } from '../../../../../plugins/stages/rate-limit/index.ts';
import type { Account } from '../../../../../src/gateway/accounts/accounts.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';
import type { GatewayError } from '../../../../../src/gateway/exchange/errors.ts';
import type { Exchange } from '../../../../../src/gateway/exchange/exchange.ts';
import type { Outcome } from '../../../../../src/gateway/exchange/exchange-view.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import type { StageSetup } from '../../../../../src/gateway/exchange/stage-plan.ts';
import { type LimitOverrides, type Plan, planSchema } from '../../../../../src/gateway/limits/plan-limits.ts';
import type { StateStore } from '../../../../../src/gateway/limits/state-store.ts';
import { outcomeOf } from '../../../../../src/gateway/settlement/settle.ts';
import { MemoryStateStore } from '../../../../../src/mount/state/counters/memory-state-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange, sampleModel } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

/** The stage alone with a clock of the test's own; its account `a` has the plan `tested`. */
export class LimitedStage {
  readonly clock: FakeClock;
  readonly state: StateStore;
  readonly stage: Stage;

  constructor(
    plan: Plan | undefined,
    {
      options = {},
      began_ms,
      state,
      ...setup
    }: {
      options?: Parameters<typeof rateLimit>[0];
      began_ms?: number;
      state?: (clock: FakeClock) => StateStore;
    } & Partial<Omit<StageSetup, 'state'>> = {},
  ) {
    this.clock = new FakeClock(began_ms);
    this.state = state?.(this.clock) ?? new MemoryStateStore(this.clock);
    this.stage = rateLimit(options).plan.create({
      ...sampleSetup([sampleModel()]),
      plans: plan ? { tested: planSchema.parse(plan) } : {},
      clock: this.clock,
      ...setup,
      state: this.state,
    });
  }

  exchange(
    request: Partial<ChatRequest> = {},
    account: Account | undefined = { id: 'a', plan: 'tested' },
  ): Exchange {
    const exchange = sampleExchange({ request, model: {}, start: { clock: this.clock } });
    exchange.model = sampleModel({ id: request.model ?? sampleModel().id });
    exchange.account = account;
    return exchange;
  }

  /** Reserves all that an exchange of the interface reserves: before its body, and with its request. */
  async reserve(exchange: Exchange): Promise<void> {
    await this.stage.onHeaders!(exchange);
    await this.stage.onRequest!(exchange);
  }

  /** An exchange that has been admitted and sent upstream. */
  async admitted(...asked: Parameters<LimitedStage['exchange']>): Promise<Exchange> {
    const exchange = this.exchange(...asked);
    await this.reserve(exchange);
    exchange.beginAttempt();
    return exchange;
  }

  /** The refusal of a further exchange, and the exchange. */
  async refused(
    ...asked: Parameters<LimitedStage['exchange']>
  ): Promise<{ error: GatewayError; exchange: Exchange }> {
    const exchange = this.exchange(...asked);
    try {
      await this.reserve(exchange);
    } catch (error) {
      return { error: error as GatewayError, exchange };
    }
    throw new Error('it was admitted');
  }

  /** Ends an exchange that has used so many tokens. */
  settle(exchange: Exchange, prompt_tokens = 0, completion_tokens = 0, outcome: Partial<Outcome> = {}): void {
    Object.assign(exchange.usage, { prompt_tokens, completion_tokens, estimated: false });
    this.stage.onSettled!(exchange, { ...outcomeOf(exchange), ...outcome });
  }

  async remaining(): Promise<Record<string, number>> {
    const probe = this.exchange();
    this.stage.onError!(probe, new Error('probe') as GatewayError);
    const { replyHeaders: headers } = probe;
    return {
      requests: Number(headers['x-ratelimit-remaining-requests']),
      tokens: Number(headers['x-ratelimit-remaining-tokens']),
    };
  }
}

/** The same with limits of the account's own. */
export const ownLimits = (limits: LimitOverrides, plan?: string): Account => ({ id: 'a', plan, limits });
