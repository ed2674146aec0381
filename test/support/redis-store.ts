import { Registry } from 'prom-client';
import { RedisState } from '../../plugins/stores/redis/redis-state.ts';
import { type Clock, systemClock } from '../../src/common/clock.ts';
import { type OutagePolicies, outagePolicySchema } from '../../src/config/state-options.ts';
import type { Limit } from '../../src/gateway/limits/limit-table.ts';
import { LeasedStateStore } from '../../src/mount/state/leased-state-store.ts';
import type { PastUseSource } from '../../src/mount/state/past-restorer.ts';
import { RemoteLeases } from '../../src/mount/state/remote-leases.ts';
import { told_machine_times } from '../../src/records/lease-protocol.ts';
import { createLog, type Log } from '../../src/telemetry/log.ts';
import { StoreMetrics } from '../../src/telemetry/store-metrics.ts';

export interface RedisStoreOptions {
  readonly url: string;
  readonly clock?: Clock;
  /** Whether the scripts take the time from `clock` as well; the server's otherwise. */
  readonly fakeTime?: boolean;
  readonly key_prefix?: string;
  readonly timeout_ms?: number;
  readonly lease_ms?: number;
  readonly remembered_ms?: number;
  readonly policies?: Partial<OutagePolicies>;
  readonly min_instances?: number;
  readonly log?: Log;
  /** What the ledger says of totals. */
  readonly past?: PastUseSource;
}

/** A guarded state store on a Redis server, and what it counts of itself. */
export interface RedisStore {
  readonly store: LeasedStateStore;
  readonly remote: RedisState;
  /** What Redis counts under limits of an account. */
  used(account: string, limits: readonly Limit[]): Promise<number[]>;
  /** The sum of a metric's values, of those that have `label` if it is given. */
  metric(name: string, label?: string): Promise<number>;
}

/** Opens one as a gateway does. */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const { clock = systemClock, lease_ms = 15_000, timeout_ms = 250, min_instances = 1 } = options;
  const { log = createLog('silent') } = options;
  const registry = new Registry();
  const { remembered_ms = told_machine_times.remembered_ms } = options;
  const times = { ...told_machine_times, lease_ms, remembered_ms };
  const remote = new RedisState({
    url: options.url,
    key_prefix: options.key_prefix ?? 'sluice:',
    connect_timeout_ms: 2000,
    timeout_ms,
    times,
    log,
    ...(options.fakeTime && { now_ms: () => clock.epoch_ms() }),
  });
  const policies = outagePolicySchema.parse(options.policies ?? {});
  const metrics = new StoreMetrics(registry);
  const leases = new RemoteLeases(remote, {
    ...{ policies, min_instances, times, clock, log, metrics },
    past: options.past,
  });
  const store = new LeasedStateStore(leases, clock);
  await store.started();
  const metric = async (name: string, label = '') => {
    const lines = (await registry.metrics()).split('\n');
    return lines
      .filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .filter(line => line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  };
  let asked = 0;
  const used = async (account: string, limits: readonly Limit[]) => {
    const rows = limits.map(limit => ({ limit, used: 0, back: 0, block: 0, refunds: [] }));
    const message = { account, session: ++asked, seq: 1, rows, wants: [] };
    const { as_of } = await remote.exchange('observer', message);
    const { counted } = await remote.exchange('observer', { ...message, as_of });
    return counted!.rows.map(({ used }) => used);
  };
  return { store, remote, used, metric };
}
