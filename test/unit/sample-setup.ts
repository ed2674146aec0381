import { Registry } from 'prom-client';
import { Catalog, type Model } from '../../src/catalog/catalog.ts';
import type { StageSetup } from '../../src/chain/stage-plan.ts';
import { systemClock } from '../../src/clock.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../../src/stores/accounts/accounts.ts';
import { MemoryStateStore } from '../../src/stores/limits/memory-state-store.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';

/** What a stage is given when it is made, of these models and accounts. */
export function sampleSetup(models: readonly Model[] = [], accounts: AccountsConfig = {}): StageSetup {
  return {
    catalog: new Catalog(models),
    accounts: new ConfiguredAccounts(accounts),
    plans: {},
    state: new MemoryStateStore(systemClock),
    metrics: new Metrics(new Registry()).limits,
    log: createLog('silent'),
    clock: systemClock,
  };
}
