import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Clock } from '../../common/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { PluginMetrics } from '../../telemetry/metric-factory.ts';
import type { Account, AccountDirectory } from '../accounts/accounts.ts';
import type { CacheStore } from '../cache/cache-store.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Plans } from '../limits/plan-limits.ts';
import type { StateStore } from '../limits/state-store.ts';
import type { ExchangeView } from './exchange-view.ts';
import type { Stage } from './stage.ts';

/**
 * Finds the account that the application names for a request; `undefined` if it names none. Ids are looked up in `accounts`, by default those
 * of the gateway. Throws a GatewayError, or rejects with one. Synchronous if the application and the directory are.
 */
export type FindAccount = (
  exchange: Pick<ExchangeView, 'incoming' | 'log'>,
  accounts?: AccountDirectory,
) => Account | undefined | Promise<Account | undefined>;

/** What a stage factory receives: the parts of the gateway around the stage. */
export interface StageSetup {
  /** The models. */
  readonly catalog: Catalog;
  /** Finds accounts, by key or by id. */
  readonly accounts: AccountDirectory;
  /** Finds the account that the application's `accountOf` names for a request; undefined if the application gives no such function. */
  readonly accountOf?: FindAccount | undefined;
  /** The limits by plan. */
  readonly plans: Plans;
  /** Counters and concurrency of all accounts. Closed by the code that created it, not by a stage. */
  readonly state: StateStore;
  /**
   * Texts by key with a TTL, for this stage alone: shared by all instances where `state` is Redis, otherwise in this process. A value may
   * have 1 MiB; a larger one is not stored, and a TTL of more than 30 days ends after those. In this process, each stage has 64 MiB, and
   * the least recently used values go first; Redis keeps all until their TTL ends. While Redis is down, `get` finds nothing.
   */
  readonly cache: CacheStore;
  /** Creates the stage's metrics; their names begin with `sluice_` and its name, or with its `metricPrefix`. */
  readonly metrics: PluginMetrics;
  /** Log with the stage's name on every line, but without a request id: for `create` and background work. In hooks use `exchange.log`. */
  readonly log: Log;
  /** Time of day and of durations. In a test, the option `clock` of `createChain` or `createGateway` replaces it. */
  readonly clock: Clock;
}

/** A stage's hooks; its name is added from the definition. */
export type Hooks = Omit<Stage, 'name'>;

/** A stage with its options, not yet created; chains and configurations are composed of these. */
export interface StagePlan {
  /** The stage's name. */
  readonly name: string;
  /** Prefix of its metrics' names, if it is not the usual one. */
  readonly metricPrefix: string | undefined;
  /** True if it refuses requests for which it finds no account. */
  readonly authenticates: boolean;
  /** Schema of its options: the same for all stages of one factory. */
  readonly schema: z.ZodType;
  /** Options as parsed by its schema. */
  readonly options: unknown;
  /** Creates the stage; once for each chain. */
  create(setup: StageSetup): Stage;
}

/** Express's error handler, structurally. Express tells it by its four parameters. */
export type ErrorHandler = (
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Express's handler, structurally: plain Node servers call it as well. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** A handler for `app.use`, which runs this stage alone, with the stage's plan for `createChain`. */
export type StageHandler = RequestHandler & { readonly plan: StagePlan };

/** Creates a stage with options; carries the definition for configurations and documents. */
export interface StageFactory<Options = unknown> {
  (options?: Options): StageHandler;
  /** The stage's name in configurations, metrics and spans. */
  readonly stageName: string;
  /** The zod schema of its options. */
  readonly schema: z.ZodType<unknown, Options>;
}

/** Whether a module's export was returned by `defineStage`, of this copy of the package or another. */
export function isStageFactory(value: unknown): value is StageFactory {
  return typeof value === 'function' && 'stageName' in value && 'schema' in value;
}
