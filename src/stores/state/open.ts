import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../../clock.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { GuardedState } from './guarded.ts';
import { MemoryStateStore } from './memory.ts';
import { type StateOptions, stateSchema } from './options.ts';
import { instance_ms } from './pulse.ts';
import { RedisState } from './redis/redis-state.ts';
import type { StateStore } from './state-store.ts';

/** What the surroundings of a store may bring along. */
export interface StateSurroundings {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly registry?: Registry;
}

/**
 * The store that `options` describe, as they stand under `stores`. Redis need not be there yet: it is looked for at first use, or by
 * `started`. Throws a ZodError when options are wrong.
 */
export function openStateStore(options: StateOptions, surroundings: StateSurroundings = {}): StateStore {
  const config = stateSchema.parse(options);
  const { clock = systemClock, log = createLog('warn'), registry = new Registry() } = surroundings;
  if (config.state === 'memory') return new MemoryStateStore(clock);
  const { state_lease_ms: lease_ms, when_state_is_out: policies } = config;
  const redis = new RedisState({
    url: config.state,
    instance: randomUUID(),
    key_prefix: config.state_key_prefix,
    connect_timeout_ms: config.state_connect_timeout_ms,
    timeout_ms: config.state_timeout_ms,
    lease_ms,
    instance_ms,
    clock,
    log,
  });
  return new GuardedState(redis, { policies, lease_ms, clock, log, metrics: StoreMetrics.on(registry) });
}
