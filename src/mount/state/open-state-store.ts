import { createRequire } from 'node:module';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { type Clock, systemClock } from '../../common/clock.ts';
import { ConfigError, issuesOf } from '../../common/config-error.ts';
import { missingPackage } from '../../common/missing-package.ts';
import { type StateOptions, stateOptions } from '../../config/state-options.ts';
import { stateServerAt } from '../../config/state-server.ts';
import type { StateStore } from '../../gateway/limits/state-store.ts';
import type { StatePlace } from '../../records/define-state-store.ts';
import { machine_times, told_machine_times } from '../../records/lease-protocol.ts';
import { type Logger, logOf } from '../../telemetry/logger.ts';
import { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { MemoryStateStore } from './counters/memory-state-store.ts';
import { LeasedStateStore } from './leased-state-store.ts';
import type { PastUseSource } from './past-restorer.ts';
import { RemoteLeases } from './remote-leases.ts';
import { RestoredStateStore } from './restored-state-store.ts';

const packages = createRequire(import.meta.url);
const schema = z.strictObject(stateOptions);

/** Options that the application passes to a store. */
export interface StateSurroundings {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly registry?: Registry;
  /** Initial values of counters in memory, and of totals that the server does not know. */
  readonly past?: PastUseSource | undefined;
  /** The server that `state` names, where it is known already. */
  readonly server?: StatePlace | undefined;
}

/**
 * The store that `options` describe, as they stand under `stores`. Redis need not be there yet: it is looked for at first use, or by
 * `started`. Throws a ConfigError when options are wrong, and for a Redis while the package `@redis/client` is not installed.
 */
export function openStateStore(options: StateOptions, surroundings: StateSurroundings = {}): StateStore {
  const checked = schema.safeParse(options);
  if (!checked.success) throw new ConfigError('openStateStore', issuesOf(checked.error, schema, options));
  const config = checked.data;
  const { clock = systemClock, registry = new Registry(), past } = surroundings;
  const log = logOf(surroundings.log, 'warn');
  const server = surroundings.server ?? serverOf(config.state);
  if (!server) {
    const own = new MemoryStateStore(clock);
    return past ? new RestoredStateStore(own, { past, clock, log }) : own;
  }
  // What is loaded at first use cannot be refused any more then.
  if (server.needs !== undefined) requirePackage(server.needs);
  const times = {
    ...(server.tells ? told_machine_times : machine_times),
    lease_ms: config.state_lease_ms,
  };
  const common = { times, clock, log, metrics: new StoreMetrics(registry) };
  const { state, cache } = server.open({
    key_prefix: config.state_key_prefix,
    connect_timeout_ms: config.state_connect_timeout_ms,
    timeout_ms: config.state_timeout_ms,
    ...common,
  });
  const { on_state_store_down: policies, state_min_instances: min_instances } = config;
  return new LeasedStateStore(
    new RemoteLeases(state, { policies, min_instances, cache, past, ...common }),
    clock,
  );
}

function serverOf(state: string): StatePlace | undefined {
  try {
    return stateServerAt(state);
  } catch (thrown) {
    throw new ConfigError('openStateStore', [{ path: ['state'], message: (thrown as Error).message }]);
  }
}

/** Throws where this package is installed and the other is not. In an application that is bundled into one file neither can be found. */
function requirePackage(name: string): void {
  try {
    packages.resolve('sluice/package.json');
  } catch {
    return;
  }
  try {
    packages.resolve(name);
  } catch (cause) {
    throw new ConfigError('openStateStore', [{ path: ['state'], message: missingPackage(name, cause) }], {
      cause,
    });
  }
}
