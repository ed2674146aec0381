import { z } from 'zod';
import type { Clock } from '../common/clock.ts';
import { checkedBy } from '../common/config-error.ts';
import type { Finding } from '../common/finding.ts';
import { isObject } from '../common/json-object.ts';
import { aFunction } from '../common/methods.ts';
import type { CacheStore } from '../gateway/cache/cache-store.ts';
import type { Log } from '../telemetry/log.ts';
import type { StoreMetrics } from '../telemetry/store-metrics.ts';
import type { LeaseTimes } from './lease-protocol.ts';
import type { RemoteState } from './remote-state.ts';

/** What a state store is opened with: `stores.state_*` of the configuration, and what is around it. */
export interface StateStoreSetup {
  /** Prefix of every key. */
  readonly key_prefix: string;
  /** The longest that an operation may take. */
  readonly timeout_ms: number;
  /** The longest that a connection may take to come up. */
  readonly connect_timeout_ms: number;
  /** The durations that the table and its holders agree on. */
  readonly times: LeaseTimes;
  /** The gateway's clock. */
  readonly clock: Clock;
  /** The gateway's log. */
  readonly log: Log;
  /** What the store counts of itself. */
  readonly metrics: StoreMetrics;
}

/** How a store is asked by `sluice doctor`. */
export interface Examination {
  /** Time for one answer. */
  readonly limit_ms: number;
  /** What a connection that failed says to its reader. */
  messageOf(thrown: unknown): string;
}

/** A cache that ends with its state store. */
export interface ClosableCache extends CacheStore {
  close?(): Promise<void>;
}

/** A server of state, which is not connected yet. */
export interface StatePlace {
  /** A package that must be installed beside sluice. */
  readonly needs?: string;
  /** Its servers have `ask` and `asked`. Without them every instance asks the table by itself, and more often. */
  readonly tells?: true;
  /** Connects at first use. The gateway puts around it what holds while it is down: circuit breaker and `on_state_store_down`. */
  open(setup: StateStoreSetup): { readonly state: RemoteState; readonly cache?: ClosableCache };
  /** Looks at the server without writing there. */
  examine?(how: Examination): Promise<readonly Finding[]>;
}

/** A kind of state store, as `defineStateStore` returns it. */
export interface StateStoreDefinition {
  /** In kebab-case. */
  readonly name: string;
  /** How `stores.state` names a server of this kind, for messages: `redis://user:password@host:6379/0`. */
  readonly form: string;
  /** The server that `stores.state` names; undefined for what is not of this kind. Throws an Error that says what is wrong with one that is. */
  serverAt(text: string): StatePlace | undefined;
}

const schema = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case, such as my-store'),
  form: z.string().min(1, 'must say what stores.state is to be, such as my-store://HOST'),
  serverAt: aFunction('it gets the text of stores.state, and returns a server or undefined'),
});

/**
 * Declares a store of counters and concurrency that instances share. `stores.plugins` of a configuration, or the option `stores` of `createGateway`,
 * makes it known; `stores.state` then names a server of it. Throws a ConfigError for an incomplete definition.
 */
export function defineStateStore(definition: StateStoreDefinition): StateStoreDefinition {
  checkedBy('defineStateStore', schema, definition);
  return definition;
}

/** Whether a module's export was returned by `defineStateStore`, of this copy of the package or another. */
export const isStateStoreDefinition = (value: unknown): value is StateStoreDefinition =>
  isObject(value) && typeof value.serverAt === 'function' && typeof value.form === 'string';
