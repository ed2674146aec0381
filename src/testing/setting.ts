import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setTimeout, setImmediate as turn } from 'node:timers/promises';
import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { systemClock } from '../common/clock.ts';
import { planOf } from '../config/checks/given-stage.ts';
import { defaultModels } from '../config/example-models.ts';
import { modelSchema } from '../config/model-schema.ts';
import type { Account } from '../gateway/accounts/accounts.ts';
import { Catalog, type Model } from '../gateway/catalog/catalog.ts';
import { Chain, type ChainRun } from '../gateway/exchange/chain.ts';
import { GatewayError } from '../gateway/exchange/errors.ts';
import { Exchange } from '../gateway/exchange/exchange.ts';
import type { Stage } from '../gateway/exchange/stage.ts';
import type { StagePlan } from '../gateway/exchange/stage-plan.ts';
import { plansSchema } from '../gateway/limits/plan-limits.ts';
import { outcomeOf } from '../gateway/settlement/settle.ts';
import { createStages } from '../mount/chain/create-stages.ts';
import { MemoryStateStore } from '../mount/state/counters/memory-state-store.ts';
import { ConfiguredAccounts } from '../records/configured-accounts.ts';
import { createLog } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { type Breach, ContractError, type Place, type Rule } from './contract-error.ts';
import type { Change, ContractOptions, StageUnderTest } from './contract-options.ts';
import { StageWatch, watchedStage } from './watched-stage.ts';

const after_ms = 20;
const default_key = 'contract-kit-key';
const default_accounts = { contract: { keys: [{ value: default_key }] } };
const catalogSchema = z.array(modelSchema.partial({ upstreams: true })).min(1);

/** One exchange, and its run through the stage. */
export interface StageRun {
  readonly exchange: Exchange;
  readonly chain: ChainRun;
}

/** The gateway around the stage: its chain, catalog and accounts, and the client's request. */
export class Setting {
  readonly name: string;
  readonly stages: readonly Stage[];
  readonly metrics = new Metrics(new Registry());
  readonly changes: ReadonlySet<Change>;
  readonly watch = new StageWatch();
  /** The text of the fixture that has it everywhere. */
  readonly sample: string;
  readonly #chain: Chain;
  readonly #catalog: Catalog;
  /** The account of the setting; undefined if a stage under check finds the account itself. */
  readonly #account: Account | undefined;
  readonly options;
  readonly #log = createLog('silent');

  constructor(stage: StageUnderTest, options: ContractOptions) {
    this.options = { read_ahead: 1, timeout_ms: 5000, ...options };
    this.changes = new Set(options.changes);
    this.sample = options.sample ?? 'Write to jane.doe@example.org about card 4111 1111 1111 1111.';
    this.#catalog = catalogOf(options.models ?? defaultModels('upstream').slice(0, 1));
    const given = structuredClone(options.accounts ?? default_accounts) as typeof default_accounts;
    const accounts = new ConfiguredAccounts(given);
    const plans = plansOf(stage);
    this.name = plans.map(({ name }) => name).join(' → ');
    const key = /^bearer (\S+)$/i.exec(options.headers?.authorization ?? '')?.[1];
    const named = key === undefined ? undefined : accounts.find(key);
    if (!plans.some(({ authenticates }) => authenticates))
      this.#account = named ?? accounts.findById(Object.keys(given)[0] ?? '');
    const created = createStages(plans, {
      catalog: this.#catalog,
      accounts,
      plans: plansSchema.parse(options.plans ?? {}),
      state: new MemoryStateStore(systemClock),
      registry: this.metrics.registry,
      log: this.#log,
      clock: systemClock,
    });
    this.stages = created.map(stage => watchedStage(stage, this.watch, this.options.timeout_ms));
    this.#chain = new Chain(this.stages, this.metrics);
  }

  /** Waits as the upstream does where the wire is cut and before a fault. */
  pause(): Promise<void> {
    const { pause_ms } = this.options;
    return pause_ms === undefined ? turn() : setTimeout(pause_ms);
  }

  /** A breach; or the stage's mistake that comes before it, and is probably why. */
  breach(rule: Rule, place: Place, problem: string, values: Pick<Breach, 'expected' | 'got'>): ContractError {
    const found = this.watch.mistake ?? { rule, problem, expected: values.expected, got: values.got };
    return new ContractError({ ...found, subject: this.name, ...place });
  }

  /** Throws if a stage has made a mistake that its output does not show. */
  checkWatch(place: Place): void {
    const { mistake } = this.watch;
    if (mistake) throw new ContractError({ ...mistake, subject: this.name, ...place });
  }

  /** Waits for what a stage may still do after the end of a stream. */
  afterwards(): Promise<void> {
    return setTimeout(after_ms);
  }

  /** An exchange whose headers have arrived; with `anonymous`, one that has none and no account. */
  exchange(anonymous = false): Exchange {
    const named = this.options.headers ?? { authorization: `Bearer ${default_key}` };
    const headers = anonymous ? {} : named;
    const exchange = new Exchange({
      id: 'req_contract',
      endpoint: { name: 'chat.completions', public: false },
      method: 'POST',
      path: '/v1/chat/completions',
      headers,
      client_address: '',
      incoming: Object.assign(new IncomingMessage(new Socket()), { headers, ...this.options.incoming }),
      log: this.#log,
      clock: systemClock,
      span: trace.wrapSpanContext(INVALID_SPAN_CONTEXT),
    });
    if (this.#account && !anonymous) exchange.authenticate(this.#account);
    return exchange;
  }

  /** Gives `exchange` its request, as the gateway does once the body is there. */
  asked(exchange: Exchange, stream: boolean): Exchange {
    const messages = [{ role: 'user' as const, content: 'Why do rivers bend?' }];
    const model = this.#catalog.models[0]!.id;
    const base = { model, messages, parameters: {}, unknown: {} };
    exchange.request = { ...base, ...structuredClone(this.options.request), stream };
    exchange.model = this.#catalog.find(exchange.request.model);
    return exchange;
  }

  /** Runs an exchange through the request phase, up to the upstream. */
  async begin(stream: boolean, place: Place = {}): Promise<StageRun> {
    const exchange = this.exchange();
    const chain = this.#chain.enter(exchange);
    let hook = 'onHeaders';
    try {
      await chain.onHeaders();
      hook = 'onRequest';
      this.asked(exchange, stream);
      await chain.onRequest(this.#catalog);
    } catch (got) {
      chain.onError(got);
      settle({ exchange, chain });
      const problem = GatewayError.is(got)
        ? 'refuses the request of this check; give it options, accounts or a request that let it through'
        : `${hook} threw ${got instanceof Error ? withArticle(got.name) : 'a value'} that is no GatewayError`;
      throw this.breach('refusals', this.watch.mistake ? place : {}, problem, { expected: 'no throw', got });
    }
    exchange.beginAttempt();
    return { exchange, chain };
  }
}

/** Ends an exchange as the gateway does. */
export function settle({ exchange, chain }: StageRun): void {
  if (exchange.end.status === 0) exchange.end.replied(200);
  chain.onSettled(outcomeOf(exchange));
}

const withArticle = (name: string): string => `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;

/** The plans of what is checked. Throws a TypeError if it is no stage, and no list of stages. */
function plansOf(given: StageUnderTest): StagePlan[] {
  const entries: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (entries.length === 0) throw new TypeError('checkStage: the list has no stage');
  return entries.map((entry, at) => {
    const plan = planOf(entry);
    if (typeof plan !== 'string') return plan;
    throw new TypeError(
      `checkStage: ${Array.isArray(given) ? `entry ${at} of the list` : 'what is given'} ${plan}`,
    );
  });
}

/** A frozen catalog: a stage that changed a model would change it for all exchanges. */
function catalogOf(models: NonNullable<ContractOptions['models']>): Catalog {
  const all = catalogSchema
    .parse(models)
    .map(model => ({ ...model, upstreams: model.upstreams ?? [], extra_parameters: [] }));
  return new Catalog(JSON.parse(JSON.stringify(all), (_, value) => Object.freeze(value)) as Model[]);
}
