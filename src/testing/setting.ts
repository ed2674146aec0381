import { setTimeout } from 'node:timers/promises';
import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { z } from 'zod';
import type { ChatRequest } from '../canonical.ts';
import { Catalog, type Model } from '../catalog/catalog.ts';
import { defaultModels } from '../catalog/default-models.ts';
import { modelSchema } from '../catalog/model-schema.ts';
import { Chain, type ChainRun } from '../chain/chain.ts';
import { createStages } from '../chain/create-stages.ts';
import { systemClock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import { Exchange } from '../exchange.ts';
import { outcomeOf } from '../settlement/settle.ts';
import type { Stage } from '../stage.ts';
import { ConfiguredAccounts } from '../stores/accounts/accounts.ts';
import { MemoryStateStore } from '../stores/limits/memory-state-store.ts';
import { plansSchema } from '../stores/limits/plan-limits.ts';
import { createLog } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { type Breach, ContractError } from './contract-error.ts';
import type { Change, ContractOptions, StageUnderTest } from './contract-options.ts';
import { turn } from './turn.ts';

const default_key = 'contract-kit-key';
const default_accounts = { contract: { keys: [{ value: default_key }] } };
const catalogSchema = z.array(modelSchema.partial({ upstreams: true })).min(1);

/** One exchange on its way, as a gateway would have it. */
export interface Way {
  readonly exchange: Exchange;
  readonly passage: ChainRun;
}

/** The gateway around the stage: its chain, catalog and accounts, and what is asked of it. */
export class Setting {
  readonly name: string;
  readonly stages: readonly Stage[];
  readonly metrics = new Metrics(new Registry());
  readonly changes: ReadonlySet<Change>;
  readonly read_ahead: number;
  readonly holds_all: boolean;
  readonly timeout_ms: number;
  /** The upstream's pauses. */
  readonly pause: () => Promise<void>;
  /** What a stage threw in `cancel` last. */
  cancelFault: unknown;
  readonly #chain: Chain;
  readonly #catalog: Catalog;
  readonly #options: ContractOptions;
  readonly #log = createLog('silent');

  constructor(stage: StageUnderTest, options: ContractOptions) {
    this.#options = options;
    this.changes = new Set(options.changes);
    this.read_ahead = options.read_ahead ?? 1;
    this.holds_all = options.holds_all ?? false;
    this.timeout_ms = options.timeout_ms ?? 5000;
    const { pause_ms } = options;
    this.pause = pause_ms === undefined ? turn : () => setTimeout(pause_ms);
    this.#catalog = catalogOf(options.models ?? defaultModels('upstream').slice(0, 1));
    const accounts = new ConfiguredAccounts(
      structuredClone(options.accounts ?? default_accounts) as typeof default_accounts,
    );
    const plans = 'plan' in stage ? [stage] : stage;
    this.name = plans.map(({ plan }) => plan.name).join(' → ');
    const created = createStages(
      plans.map(({ plan }) => plan),
      {
        catalog: this.#catalog,
        accounts,
        plans: plansSchema.parse(options.plans ?? {}),
        state: new MemoryStateStore(systemClock),
        registry: this.metrics.registry,
        log: this.#log,
        clock: systemClock,
      },
    );
    this.stages = created.map(stage => this.#watched(stage));
    this.#chain = new Chain(this.stages, this.metrics);
  }

  /** The stage, with what its transformers throw in `cancel` noted. */
  #watched(stage: Stage): Stage {
    if (!stage.onStream) return stage;
    const onStream = (exchange: Exchange) => {
      const transformer = stage.onStream?.(exchange);
      const cancel = transformer?.cancel?.bind(transformer);
      if (!transformer || !cancel) return transformer;
      return Object.assign(transformer, {
        cancel: () => {
          try {
            cancel();
          } catch (thrown) {
            this.cancelFault = thrown;
          }
        },
      });
    };
    return Object.assign(Object.create(stage), { onStream }) as Stage;
  }

  breach(breach: Omit<Breach, 'stage'>, cause?: unknown): ContractError {
    return new ContractError({ stage: this.name, ...breach }, cause);
  }

  /** An exchange whose headers have arrived. */
  exchange(headers = this.#options.headers ?? { authorization: `Bearer ${default_key}` }): Exchange {
    return new Exchange({
      id: 'req_contract',
      endpoint: { name: 'chat.completions', public: false },
      method: 'POST',
      path: '/v1/chat/completions',
      headers,
      log: this.#log,
      clock: systemClock,
      span: trace.wrapSpanContext(INVALID_SPAN_CONTEXT),
    });
  }

  /** What the client asks, in an object of its own. */
  request(stream: boolean): ChatRequest {
    const messages = [{ role: 'user' as const, content: 'Why do rivers bend?' }];
    const model = this.#catalog.models[0]!.id;
    const base = { model, messages, parameters: {}, unknown: {} };
    return { ...structuredClone({ ...base, ...this.#options.request }), stream };
  }

  /** Gives `exchange` its request, as the gateway does once the body is there. */
  asks(exchange: Exchange, stream: boolean): void {
    exchange.request = this.request(stream);
    exchange.model = this.#catalog.find(exchange.request.model);
  }

  /** An exchange that has gone down the chain, up to the upstream. */
  async begin(stream: boolean): Promise<Way> {
    const exchange = this.exchange();
    const passage = this.#chain.enter(exchange);
    try {
      await passage.onHeaders();
      this.asks(exchange, stream);
      await passage.onRequest();
    } catch (thrown) {
      passage.onError(thrown);
      settle({ exchange, passage });
      const problem = GatewayError.is(thrown)
        ? 'refuses the request of this check; give it options, accounts or a request that let it through'
        : 'throws what is no refusal on the way in';
      throw this.breach({ rule: 'refusals', problem, expected: 'no throw', got: thrown }, thrown);
    }
    exchange.attempts = 1;
    return { exchange, passage };
  }
}

/** The end of an exchange, as the gateway's. */
export function settle({ exchange, passage }: Way): void {
  if (exchange.end.status === 0) exchange.end.replied(200);
  passage.onSettled(outcomeOf(exchange));
}

/** Frozen: a stage that changes a model changes it for everyone. */
function catalogOf(models: NonNullable<ContractOptions['models']>): Catalog {
  const checked = catalogSchema.parse(models);
  const all = checked.map(
    model => ({ ...model, upstreams: model.upstreams ?? [], extra_parameters: [] }) as Model,
  );
  return new Catalog(frozen(all));
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) frozen(part);
    Object.freeze(value);
  }
  return value;
}
