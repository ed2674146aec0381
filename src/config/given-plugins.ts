import type { AnyDialectDefinition } from '../gateway/dialects/define-dialect.ts';
import type { StageHandler } from '../gateway/exchange/stage-plan.ts';
import type { AnyProviderDefinition } from '../gateway/upstream/adapter.ts';
import type { AnyExtensionDefinition } from '../records/define-extension.ts';
import type { PostgresPool } from '../records/postgres-pool.ts';
import type { ConfiguredStage } from './gateway-config.ts';
import type { StoreDefinition } from './records-places.ts';

/** A stage by name, path or package; by one of these with its options; or as an object, as its factory returns it. */
export type StageEntry = ConfiguredStage | Pick<StageHandler, 'plan'>;

/** Plugins that an application gives in code, beside its configuration, and what else decides whether that is complete. */
export interface GivenPlugins {
  readonly stages?: readonly StageEntry[];
  readonly adapters?: readonly (string | AnyProviderDefinition)[];
  readonly dialects?: readonly (string | AnyDialectDefinition)[];
  readonly extensions?: readonly (string | AnyExtensionDefinition)[];
  /** Stores that `stores.records` and `stores.state` may name. */
  readonly stores?: readonly (string | StoreDefinition)[];
  /** Set if the application says whose requests they are, so that no key is needed. */
  readonly accountOf?: unknown;
  /** Set if the application says who uses the dashboard, in place of the sign-in that is configured. */
  readonly operatorOf?: unknown;
  /** The application's own database, in place of `stores.records`. */
  readonly records?: PostgresPool;
  /** The application's own state store, in place of `stores.state`. */
  readonly state?: unknown;
  /** Time in which the module of a plugin must load, 10 s by default. */
  readonly load_ms?: number;
}
