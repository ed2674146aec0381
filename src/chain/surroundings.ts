import type { Registry } from 'prom-client';
import { z } from 'zod';
import { withMethods } from '../diagnostics/methods.ts';
import type { StateStore } from '../stores/limits/state-store.ts';
import { faultOfLogger, type Logger } from '../telemetry/logger.ts';

/** Options that the application passes to chains and gateways in code. */
export const surroundings = {
  log: z
    .custom<Logger>(value => faultOfLogger(value) === undefined, {
      error: ({ input }) => faultOfLogger(input) ?? 'must be a logger',
    })
    .optional(),
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
