import { Registry } from 'prom-client';
import { systemClock } from '../../src/common/clock.ts';
import { Catalog, type Model } from '../../src/gateway/catalog/catalog.ts';
import type { StageSetup } from '../../src/gateway/exchange/stage-plan.ts';
import { stageSetup } from '../../src/mount/chain/create-stages.ts';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../../src/records/configured-accounts.ts';
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
