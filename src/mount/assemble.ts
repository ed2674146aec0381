import { isDeepStrictEqual } from 'node:util';
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../common/clock.ts';
import { createDialects } from '../config/built-in-dialects.ts';
import { holdsLimits } from '../config/checks/check-access.ts';
import type { Settings } from '../config/load.ts';
import { stateSchema } from '../config/state-options.ts';
import type { CacheStore } from '../gateway/cache/cache-store.ts';
import { Catalog, type Model } from '../gateway/catalog/catalog.ts';
import { Chain } from '../gateway/exchange/chain.ts';
import type { Key } from '../gateway/exchange/exchange-view.ts';
import type { Stage } from '../gateway/exchange/stage.ts';
import type { StagePlan } from '../gateway/exchange/stage-plan.ts';
import { bufferLimits } from '../gateway/inbound/buffer-limits.ts';
import { BufferedBytes } from '../gateway/inbound/buffered-bytes.ts';
import { Routes } from '../gateway/inbound/routes.ts';
import type { StateStore } from '../gateway/limits/state-store.ts';
import { Background } from '../gateway/settlement/background.ts';
import type { Reports } from '../gateway/settlement/settle.ts';
import type { TokenCounter } from '../gateway/settlement/token-estimator.ts';
import { failureKinds } from '../gateway/upstream/attempt/attempt-failure.ts';
import { Provider } from '../gateway/upstream/http/provider.ts';
import { Router } from '../gateway/upstream/routing/router.ts';
import { ConfiguredAccounts } from '../records/configured-accounts.ts';
import { type DialectGateway, dialectGateway } from '../records/dialect-gateway.ts';
import { limitStates } from '../records/limit-states.ts';
import { type Log, registerLogMetrics } from '../telemetry/log.ts';
import { adjustableLog, logOf } from '../telemetry/logger.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { RecordsMetrics } from '../telemetry/records-metrics.ts';
import { ThrottledLog } from '../telemetry/throttled-log.ts';
import { ApplicationAccounts } from './chain/application-accounts.ts';
import { createStages } from './chain/create-stages.ts';
import { checkUpstreams } from './check-upstreams.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { paidUsdOf } from './paid-usd.ts';
import { Passthrough } from './passthrough/passthrough.ts';
import { type GatewayRecords, startGatewayRecords } from './records/gateway-records.ts';
import { strategyOf } from './routing-strategies.ts';
import type { OtherProcesses } from './server-status.ts';
import { openStateStore } from './state/open-state-store.ts';
import { openSharedState, openWorkerState } from './state/shared-leases.ts';
import { upstreamQuota } from './upstream-quota.ts';

/** The parts of a gateway that live as long as it does, whatever its configuration becomes. */
export interface LastingParts {
  readonly terminal: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Counters and concurrency. */
  readonly state: StateStore;
  /** True if the state store is closed with this gateway. */
  readonly ownsState: boolean;
  /** Accounts, keys and the ledger. */
  readonly records: GatewayRecords;
  readonly background: Background;
  /** Limits the memory of request bodies. */
  readonly buffered: BufferedBytes;
  /** Writes what is logged of outages of providers. */
  readonly outages: ThrottledLog<string>;
  /** What stages cache in memory, by their names. */
  readonly caches: Map<string, CacheStore>;
  /** Changes the level of the gateway's own log; that of the application's is its own matter. */
  readonly setLogLevel: (level: Settings['log']['level']) => void;
}

/** The parts that are created from one configuration. */
export interface ConfiguredParts {
  readonly settings: Settings;
  /** Accounts that the application names, if it does. */
  readonly application: ApplicationAccounts | undefined;
  readonly catalog: Catalog;
  readonly routes: Routes;
  readonly chain: Chain;
  readonly providers: readonly Provider[];
  readonly router: Router;
  readonly passthrough: Passthrough;
  /** Creates counters for upstreams that report no usage. */
  readonly newCounter: () => TokenCounter;
  /** Who gets the records of its exchanges. */
  readonly reports: Reports;
}

/** The parts of one gateway as they are under one configuration. */
export interface Parts extends LastingParts, ConfiguredParts {}

/** Creates the parts that a configuration describes. Rejects if the records store cannot be used. */
export async function assemble(
  settings: Settings,
  options: GatewayOptions,
  others: OtherProcesses = {},
): Promise<Parts> {
  const clock = options.clock ?? systemClock;
  const { log, setLogLevel } = logFor(settings.log, options);
  const metrics = new Metrics((options.registry as Registry | undefined) ?? new Registry());
  if (settings.metrics.account_label) metrics.countAccounts();
  // A logger of the application may drop lines as well, which it knows alone.
  if (!options.log) registerLogMetrics(metrics.registry);
  const records = await startGatewayRecords({
    settings: settings.records,
    configured: new ConfiguredAccounts(settings.accounts),
    clock,
    log,
    metrics: new RecordsMetrics(metrics.registry),
    ...others,
  });
  metrics.routing.stateOf = provider => records.controls.stateOf(provider);
  const ownsState = options.state === undefined;
  let state: StateStore | undefined;
  try {
    state = stateOf(settings, options, others, { clock, log, metrics, records });
    const background = new Background(settings.server, metrics);
    const buffered = new BufferedBytes(bufferLimits(settings.server), metrics.bodies);
    const outages = new ThrottledLog<string>(clock);
    const made = { terminal: options.terminal ?? false, clock, log, metrics, state, ownsState, records };
    const lasting = { ...made, background, buffered, outages, caches: new Map(), setLogLevel };
    const parts = configuredParts(settings, options, lasting);
    putInService(parts);
    return parts;
  } catch (thrown) {
    await Promise.allSettled([records.close(), ownsState && state?.close()]);
    throw thrown;
  }
}

/** The application's log, or one of the gateway's own, whose level can be changed. */
function logFor({ level, format }: Settings['log'], { log }: GatewayOptions) {
  if (log) return { log: logOf(log, level, format), setLogLevel: () => {} };
  const own = adjustableLog(level, format);
  return { log: own.log, setLogLevel: own.setLevel };
}

function stateOf(
  { stores, stateServer: server }: Settings,
  { state }: GatewayOptions,
  { primary, workers }: OtherProcesses,
  { clock, log, metrics, records }: Pick<LastingParts, 'clock' | 'log' | 'metrics' | 'records'>,
): StateStore {
  if (state) return state;
  const { past } = records;
  if (stores.state === 'memory') {
    if (primary) return openWorkerState(primary, { clock, log });
    if (workers) return openSharedState(workers, { clock, log, past });
  }
  const { registry } = metrics;
  return openStateStore(stateSchema.parse(stores), { clock, log, registry, past, server });
}

/**
 * Creates the parts of a configuration. Those of `before` that would be created alike are taken over as they are. Changes nothing of what
 * serves; if one part cannot be created, closes the new ones and throws.
 */
export function configuredParts(
  settings: Settings,
  options: GatewayOptions,
  lasting: LastingParts,
  before?: ConfiguredParts,
): Parts {
  const opened: Provider[] = [];
  try {
    const { models, made } = settings;
    const { metrics, background, clock, outages, records } = lasting;
    const catalog =
      before && isDeepStrictEqual(before.settings.models, models) ? before.catalog : new Catalog(models);
    const application = applicationOf(settings, options, lasting, before);
    const providers = providersOf(settings, lasting, before?.providers ?? [], opened);
    const blind = [...checkUpstreams(models, providers)];
    if (blind.length > 0) throw settings.mistake(blind);
    const get = <T>(key: Key<T>) =>
      key === (dialectGateway as Key<unknown>) ? (gatewayOfDialects(settings, lasting) as T) : undefined;
    const setup = { models, aliases: settings.listedAliases, get };
    const routes = new Routes(createDialects(settings.dialects, settings, setup, made.dialect));
    const quotaOf = (upstream: Model['upstreams'][number]) => upstreamQuota(lasting.state, upstream);
    const router = new Router(
      settings,
      providers,
      { clock, metrics, outages, quotaOf, strategyOf },
      before?.router,
    );
    router.control(records.controls.current);
    const stages = stagesOf(settings, lasting, { catalog, application }, before);
    return {
      ...lasting,
      settings,
      application,
      catalog,
      routes,
      chain: new Chain(stages, metrics),
      providers,
      router,
      passthrough: new Passthrough(settings, providers, {
        metrics,
        background,
        buffered: lasting.buffered,
        router,
        controls: records.controls,
      }),
      newCounter: settings.newCounter,
      reports: { metrics, ledger: records.ledger, paidUsdOf, log_sample: settings.log.sample },
    };
  } catch (thrown) {
    for (const provider of opened) void provider.close();
    throw thrown;
  }
}

const gatewayOfDialects = (
  settings: Settings,
  { clock, log, state, records: { store } }: LastingParts,
): DialectGateway => ({
  clock,
  log,
  responses: store.responses,
  usage: store.usage,
  keys: store.keys,
  limitsOf: account => limitStates({ settings, state, clock }, account),
});

function applicationOf(
  { plans, stages }: Settings,
  { accountOf }: GatewayOptions,
  { records: { accounts }, clock }: LastingParts,
  before: ConfiguredParts | undefined,
): ApplicationAccounts | undefined {
  if (!accountOf) return undefined;
  const setup = { accounts, plans, holdsLimits: holdsLimits(stages), clock };
  const isSame =
    before &&
    isDeepStrictEqual(before.settings.plans, plans) &&
    holdsLimits(before.settings.stages) === setup.holdsLimits;
  return isSame ? before.application : new ApplicationAccounts(accountOf, setup, before?.application);
}

function providersOf(
  settings: Settings,
  { clock, log, metrics: { registry } }: LastingParts,
  before: readonly Provider[],
  opened: Provider[],
): Provider[] {
  const { tracing: content, made } = settings;
  return settings.providers.map(({ name, definition, config, options }) => {
    const known = before.find(provider => provider.name === name);
    if (known?.isCreatedFrom(definition, config, options, content)) return known;
    const setup = { clock, log, registry, content, before: known };
    const create = () => new Provider(name, definition, config, options, setup);
    const provider = made.adapter(name, create);
    opened.push(provider);
    return provider;
  });
}

function stagesOf(
  { stages, plans, made }: Settings,
  { clock, log, metrics, state, records, caches }: LastingParts,
  { catalog, application }: Pick<Parts, 'catalog' | 'application'>,
  before: ConfiguredParts | undefined,
): Stage[] {
  const isAround =
    before?.catalog === catalog &&
    before.application === application &&
    isDeepStrictEqual(before.settings.plans, plans);
  const left = isAround
    ? before.settings.stages.map((plan, at) => [plan, before.chain.stages[at]!] as const)
    : [];
  const kept = (plan: StagePlan) => {
    const at = left.findIndex(([known]) => isAlike(known, plan));
    return at === -1 ? undefined : left.splice(at, 1)[0]![1];
  };
  const { registry } = metrics;
  const { accounts } = records;
  const accountOf = application?.find;
  const parts = { catalog, accounts, accountOf, plans, state, registry, log, clock, caches, kept };
  return createStages(stages, parts, made.stage);
}

/** Whether two plans create the same stage. */
const isAlike = (one: StagePlan, other: StagePlan): boolean =>
  one.name === other.name && one.schema === other.schema && isDeepStrictEqual(one.options, other.options);

/** Lets parts serve in the place of `before`: health checks, metrics, limits and accounts are those of their configuration from now on. */
export function putInService(parts: Parts, before?: ConfiguredParts): void {
  const { settings, metrics, records, providers, routes, background, buffered } = parts;
  const names = new Set(providers.map(({ name }) => name));
  for (const gone of before?.providers ?? []) if (!names.has(gone.name)) gone.retire();
  for (const provider of providers) {
    if (before?.providers.includes(provider)) provider.readKeysAgain();
    else {
      before?.providers.find(({ name }) => name === provider.name)?.retire(provider);
      provider.watch(metrics.routing);
    }
    metrics.client.prepare(provider.name, provider.adapter.providerName, failureKinds);
  }
  const endpoints = [...routes.generating, ...(settings.passthrough.length > 0 ? ['passthrough'] : [])];
  metrics.prepareRequests(
    endpoints,
    settings.models.map(({ id }) => id),
  );
  if (before) {
    parts.setLogLevel(settings.log.level);
    records.configure(settings.accounts);
    background.configure(settings.server);
    buffered.configure(bufferLimits(settings.server));
  }
  metrics.configLoaded(parts.clock.epoch_ms());
}
