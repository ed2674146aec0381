import { Registry } from 'prom-client';
import { systemClock } from '../common/clock.ts';
import { ConfigError, type ConfigIssue } from '../common/config-error.ts';
import { createDialects } from '../config/built-in-dialects.ts';
import type { Settings } from '../config/load.ts';
import { Catalog } from '../gateway/catalog/catalog.ts';
import { Chain } from '../gateway/exchange/chain.ts';
import { Provider } from '../gateway/upstream/http/provider.ts';
import { ConfiguredAccounts } from '../records/configured-accounts.ts';
import { createLog } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { createStages } from './chain/create-stages.ts';
import { checkUpstreams } from './check-upstreams.ts';
import { openStateStore } from './state/open-state-store.ts';

/**
 * Creates the adapters, dialects and stages of a configuration as the start does, and closes them again. Opens no store and no socket of the
 * gateway's own; limits are in memory. Rejects with a ConfigError of `source` that lists all that cannot be created.
 */
export async function tryPlugins(settings: Settings, source: string): Promise<void> {
  const { models, plans, made } = settings;
  const clock = systemClock;
  const log = createLog('silent');
  const registry = new Registry();
  const issues: ConfigIssue[] = [];
  const tried = <T>(make: () => T): T | undefined => {
    try {
      return make();
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown;
      issues.push(...thrown.issues);
      return undefined;
    }
  };
  const state = openStateStore({ state: 'memory' }, { clock, log, registry });
  const providers = settings.providers.map(({ name, definition, config, options }) => {
    const setup = { clock, log, registry, content: settings.tracing };
    return tried(() => made.adapter(name, () => new Provider(name, definition, config, options, setup)));
  });
  const blind = [...checkUpstreams(models, providers)];
  if (blind.length > 0) issues.push(...settings.mistake(blind).issues);
  createDialects(settings.dialects, settings, { models }, (at, make) => tried(() => made.dialect(at, make))!);
  const accounts = new ConfiguredAccounts(settings.accounts);
  const parts = {
    catalog: new Catalog(models),
    accounts,
    accountOf: undefined,
    plans,
    state,
    registry,
    log,
    clock,
  };
  const stages = createStages(settings.stages, parts, (at, make) => tried(() => made.stage(at, make))!);
  const chain = new Chain(
    stages.filter(stage => stage !== undefined),
    new Metrics(new Registry()),
  );
  await Promise.allSettled([chain.close(), state.close(), ...providers.map(provider => provider?.close())]);
  if (issues.length > 0) throw new ConfigError(source, issues);
}
