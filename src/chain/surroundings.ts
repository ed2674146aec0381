import type { Registry } from 'prom-client';
import { withMethods } from '../diagnostics/methods.ts';
import type { StateStore } from '../stores/limits/state-store.ts';
import type { Log } from '../telemetry/log.ts';

/** Options that the application passes to chains and gateways in code. */
export const surroundings = {
  log: withMethods<Log>('a logger such as pino makes', [
    'fatal',
    'error',
    'warn',
    'info',
    'debug',
    'child',
    'isLevelEnabled',
  ]).optional(),
  registry: withMethods<Registry>('a Registry of prom-client', [
    'registerMetric',
    'getSingleMetric',
    'getMetricsAsArray',
    'metrics',
  ]).optional(),
  state: withMethods<StateStore>('a state store, such as openStateStore() or new MemoryStateStore() gives', [
    'reserve',
    'statuses',
    'knownStatuses',
    'close',
  ]).optional(),
};
