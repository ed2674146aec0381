import type { Registry } from 'prom-client';
import { z } from 'zod';
import type { Clock } from '../../common/clock.ts';
import { aFunction, withMethods } from '../../common/methods.ts';
import type { StateStore } from '../../gateway/limits/state-store.ts';
import { faultOfLogger, type Logger } from '../../telemetry/logger.ts';
import type { AccountOf } from './application-accounts.ts';

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
  accountOf: aFunction<AccountOf>(
    'it gets the request, and returns the id of an account, { id, plan, limits } or undefined',
  ).optional(),
  clock: withMethods<Clock>('a clock', ['epoch_ms', 'elapsed_ms']).optional(),
};
