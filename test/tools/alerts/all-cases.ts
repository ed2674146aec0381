import { casesOfProcesses } from './process-cases.ts';
import { casesOfProviders } from './provider-cases.ts';
import type { ProvokedCase } from './provoked-case.ts';
import { casesOfRequests } from './request-cases.ts';
import { casesOfStores } from './store-cases.ts';

/** Every provoked case, by what breaks. */
export const allCases: readonly ProvokedCase[] = [
  ...casesOfRequests,
  ...casesOfProviders,
  ...casesOfStores,
  ...casesOfProcesses,
];

/** Jobs of the cases that the test suite runs: the attacks, the traps, and the ledger. `npm run drill -- alerts` runs all. */
export const worstCases: readonly string[] = [
  'half',
  'refused',
  'flood',
  'cancelled-streams',
  'keys-lost',
  'ledger-out',
];
