import { accounts } from './accounts.ts';
import { chain } from './chain.ts';
import type { Board } from './dashboard.ts';
import { providers } from './providers.ts';
import { service } from './service.ts';

/** All dashboards, from the whole to its parts. */
export const boards: readonly Board[] = [service, chain, providers, accounts];
