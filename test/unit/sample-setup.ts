import { Registry } from 'prom-client';
import { Catalog, type Model } from '../../src/catalog/catalog.ts';
import { stageSetup } from '../../src/chain/create-stages.ts';
import type { StageSetup } from '../../src/chain/stage-plan.ts';
import { systemClock } from '../../src/clock.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../../src/stores/accounts/accounts.ts';
import { MemoryStateStore } from '../../src/stores/limits/memory-state-store.ts';
import { createLog } from '../../src/telemetry/log.ts';

/** What a stage is given when it is made, of these models and accounts. */
export function sampleSetup(models: readonly Model[] = [], accounts: AccountsConfig = {}): StageSetup {
  const parts = {
    catalog: new Catalog(models),
    accounts: new ConfiguredAccounts(accounts),
    plans: {},
    state: new MemoryStateStore(systemClock),
    registry: new Registry(),
    log: createLog('silent'),
    clock: systemClock,
  };
  return stageSetup({ name: 'sample', metricPrefix: undefined }, parts);
}
