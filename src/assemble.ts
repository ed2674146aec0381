import { Registry } from 'prom-client';
import { Catalog } from './catalog/catalog.ts';
import { ApplicationAccounts } from './chain/application-accounts.ts';
import { Chain } from './chain/chain.ts';
import { holdsLimits } from './chain/check-access.ts';
import { createStages } from './chain/create-stages.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Settings } from './config/load.ts';
import { createDialects } from './dialects/built-in-dialects.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { BufferedBytes } from './inbound/buffered-bytes.ts';
import { Routes } from './inbound/routes.ts';
import { Background } from './settlement/background.ts';
import type { TokenCounter } from './settlement/token-estimator.ts';
import { ConfiguredAccounts } from './stores/accounts/accounts.ts';
import { openStateStore } from './stores/limits/open-state-store.ts';
import { stateSchema } from './stores/limits/state-options.ts';
import type { StateStore } from './stores/limits/state-store.ts';
import { type GatewayRecords, startGatewayRecords } from './stores/records/gateway-records.ts';
import { type Log, registerLogMetrics } from './telemetry/log.ts';
import { logOf } from './telemetry/logger.ts';
import { Metrics } from './telemetry/metrics.ts';
import { RecordsMetrics } from './telemetry/records-metrics.ts';
import { failureKinds } from './upstream/attempt/attempt-failure.ts';
import { Provider } from './upstream/http/provider.ts';
import { Passthrough } from './upstream/passthrough/passthrough.ts';
import { checkImageUpstreams } from './upstream/routing/check-images.ts';
import { Router } from './upstream/routing/router.ts';

/** The parts of one gateway. */
export interface Parts {
  readonly settings: Settings;
  readonly terminal: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Counters and concurrency. */
  readonly state: StateStore;
  /** True if the state store is closed with this gateway. */
  readonly ownsState: boolean;
  /** Accounts that the application names, if it does. */
  readonly application: ApplicationAccounts | undefined;
  /** Accounts, keys and the ledger. */
  readonly records: GatewayRecords;
  readonly catalog: Catalog;
  readonly routes: Routes;
  readonly chain: Chain;
  readonly providers: readonly Provider[];
  readonly router: Router;
  readonly passthrough: Passthrough;
  readonly background: Background;
  /** Limits the bytes of request bodies in memory. */
  readonly buffered: BufferedBytes;
  /** Creates counters for upstreams that report no usage. */
  readonly newCounter: () => TokenCounter;
}

/** Creates the parts that a configuration describes. Rejects if the records store cannot be used. */
export async function assemble(settings: Settings, options: GatewayOptions): Promise<Parts> {
  const clock = options.clock ?? systemClock;
  const log = logOf(options.log, settings.log.level, settings.log.format);
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
  });
  const opened: Opened[] = [records];
  try {
    const parts = { ...partsOf(settings, options, records, { clock, log, metrics }, opened), records };
    metrics.configLoaded(clock.epoch_ms());
    return parts;
  } catch (thrown) {
    await Promise.allSettled(opened.map(one => one.close()));
    throw thrown;
  }
}

type Surroundings = Pick<Parts, 'clock' | 'log' | 'metrics'>;

/** What is closed again if a later part cannot be created. */
type Opened = Pick<Parts['records'], 'close'>;

function partsOf(
  settings: Settings,
  options: GatewayOptions,
  { accounts, past }: GatewayRecords,
  { clock, log, metrics }: Surroundings,
  opened: Opened[],
): Omit<Parts, 'records'> {
  const catalog = new Catalog(settings.models);
  const state =
    options.state ??
    openStateStore(stateSchema.parse(settings.stores), { clock, log, registry: metrics.registry, past });
  if (!options.state) opened.push(state);
  const { registry } = metrics;
  const { plans, made } = settings;
  const { accountOf } = options;
  const application =
    accountOf &&
    new ApplicationAccounts(accountOf, { accounts, plans, holdsLimits: holdsLimits(settings.stages), clock });
  const providers = settings.providers.map(({ name, definition, config, options: own }) =>
    made.adapter(
      name,
      () => new Provider(name, definition, config, own, { clock, log, registry, content: settings.tracing }),
    ),
  );
  opened.push(...providers);
  const blind = [...checkImageUpstreams(settings.models, providers)];
  if (blind.length > 0) throw settings.mistake(blind);
  for (const provider of providers) {
    provider.watch(metrics.routing);
    metrics.client.prepare(provider.name, provider.adapter.providerName, failureKinds);
  }
  const background = new Background(settings.server, metrics);
  const routes = new Routes(
    createDialects(settings.dialects, settings, { models: settings.models }, made.dialect),
  );
  const endpoints = [...routes.generating, ...(settings.passthrough.length > 0 ? ['passthrough'] : [])];
  metrics.prepareRequests(
    endpoints,
    settings.models.map(({ id }) => id),
  );
  return {
    settings,
    terminal: options.terminal ?? false,
    clock,
    log,
    metrics,
    state,
    ownsState: options.state === undefined,
    application,
    catalog,
    routes,
    chain: new Chain(
      createStages(
        settings.stages,
        { catalog, accounts, accountOf: application?.find, plans, state, registry, log, clock },
        made.stage,
      ),
      metrics,
    ),
    providers,
    router: new Router(settings, providers, { clock, metrics }),
    passthrough: new Passthrough(settings, providers, metrics, background),
    background,
    buffered: new BufferedBytes(settings.server, metrics.bodies),
    newCounter: settings.newCounter,
  };
}
