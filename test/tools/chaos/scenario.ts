import type { GatewayConfig } from '../../../src/config/schema.ts';
import type { SimulatorOptions } from '../../../src/simulator/server.ts';
import type { Kind } from './clients/request.ts';
import type { Deployment } from './deployment.ts';
import type { LedgerComparison } from './ledger-comparison.ts';
import type { ProcessMetrics } from './process-metrics.ts';

/** What must hold after a run, and whether it did. */
export interface Check {
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
}

/** Servers that a scenario needs; without any of these: one gateway, one provider, limits in memory, SQLite. */
export interface Servers {
  readonly gateways?: number;
  readonly providers?: number;
  /** Options of the simulated providers. */
  readonly provider?: Partial<SimulatorOptions>;
  /** `relayed`: two servers, the second a replica, behind one address. */
  readonly redis?: 'one' | 'relayed';
  readonly postgres?: true;
  /** The records store and the queue of the ledger on a disk that can be full. */
  readonly small_disk?: true;
  /** Changes to the configuration of all gateways. */
  readonly config?: (config: GatewayConfig, options: RunOptions) => GatewayConfig;
}

/** Clients that come one after the other, `count` at the same time. */
export interface Clients {
  readonly count: number;
  readonly kinds: readonly Kind[];
  /** The longest pause between two; 40 without. */
  readonly pause_ms?: number;
}

/** A fault, or its end, under load. */
export interface Step {
  /** Share of the run's time that passes before it. What is left after the last step passes then. */
  readonly after: number;
  readonly what: string;
  act(deployment: Deployment): unknown;
}

/** What was seen in a run. */
export interface Findings {
  readonly seconds: number;
  readonly deployment: Deployment;
  readonly comparison: LedgerComparison;
  readonly samples: readonly ProcessMetrics[];
  /** Of each gateway, when all should be as it was before. */
  readonly end: readonly ProcessMetrics[];
  /** When steps were done, on `performance.now()`, in their order. */
  readonly steps_ms: readonly number[];
  readonly begun_ms: number;
  /** What `drive` has measured. */
  readonly figures: Readonly<Record<string, string>>;
}

/** A chaos scenario: servers, clients, faults and what must hold. */
export interface Scenario {
  readonly name: string;
  readonly what: string;
  readonly servers?: Servers;
  readonly clients: readonly Clients[];
  readonly steps?: readonly Step[];
  /** Load of another kind, beside that of the clients. */
  drive?(deployment: Deployment, comparison: LedgerComparison): Promise<Findings['figures']>;
  /** Messages of level error that the operator must see, or may. */
  readonly alarms?: RegExp;
  /** Limits in the store are exactly the ledger's tokens afterwards; true where Redis is. */
  readonly exact_limits?: boolean;
  /** The longest that a well-behaved client may wait for its whole answer; 15 000 without. */
  readonly slowest_good_ms?: number;
  /** The most resident memory of a gateway; 600 without. */
  readonly peak_rss_mb?: number;
  /** Further checks of the result. */
  checks?(findings: Findings, options: RunOptions): readonly Check[];
}

export interface RunOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Times as many clients. */
  readonly load: number;
}

export const check = (name: string, holds: boolean, detail: string): Check => ({ name, holds, detail });
