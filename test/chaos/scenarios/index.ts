import type { Scenario } from '../scenario.ts';
import { clientScenarios } from './clients.ts';
import { manyStreams } from './many-streams.ts';
import { processScenarios } from './processes.ts';
import { providerFailures } from './provider-failure.ts';
import { soak } from './soak.ts';
import { storeScenarios } from './stores.ts';

export const scenarios: readonly Scenario[] = [
  soak,
  ...manyStreams,
  ...providerFailures,
  ...processScenarios,
  ...storeScenarios,
  ...clientScenarios,
];
