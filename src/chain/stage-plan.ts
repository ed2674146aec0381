import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Catalog } from '../catalog/catalog.ts';
import type { Clock } from '../clock.ts';
import type { Stage } from '../stage.ts';
import type { AccountDirectory } from '../stores/accounts/accounts.ts';
import type { Plans } from '../stores/limits/plan-limits.ts';
import type { StateStore } from '../stores/limits/state-store.ts';
import type { Log } from '../telemetry/log.ts';
import type { PluginMetrics } from '../telemetry/metric-factory.ts';

/** What a stage is given when it is made: the parts of the gateway around it. */
export interface StageSetup {
  readonly catalog: Catalog;
  readonly accounts: AccountDirectory;
  readonly plans: Plans;
  /** Counters and concurrency of all accounts. Whoever made it closes it. */
  readonly state: StateStore;
  /** Makes metrics of the stage; their names begin with `sluice_` and its name, or with its `metricPrefix`. */
  readonly metrics: PluginMetrics;
  /** Names the stage in every line. */
  readonly log: Log;
  readonly clock: Clock;
}

/** A stage's hooks; its name is added from the definition. */
export type Hooks = Omit<Stage, 'name'>;

/** A stage with its options, not yet made: what chains and configurations are composed of. */
export interface StagePlan {
  readonly name: string;
  readonly metricPrefix: string | undefined;
  /** As its schema has checked them. */
  readonly options: unknown;
  create(setup: StageSetup): Stage;
}

/** Express's handler, structurally: plain Node servers call it as well. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;
