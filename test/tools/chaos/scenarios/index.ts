import type { Scenario } from '../scenario.ts';
import { clientScenarios } from './clients.ts';
import { outages } from './outages.ts';
import { providerDrain } from './provider-drain.ts';
import { providerFailures } from './provider-failure.ts';
import { reload } from './reload.ts';
import { soak } from './soak.ts';
import { workers } from './workers.ts';

export const scenarios: readonly Scenario[] = [
  soak,
  ...providerFailures,
  providerDrain,
  ...outages,
  ...clientScenarios,
  reload,
  workers,
];
