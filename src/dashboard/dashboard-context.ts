import type { Parts } from '../assemble.ts';
import type { GatewayCalls } from './gateway-calls.ts';

/** Data and actions for the pages. */
export interface DashboardContext extends Parts {
  /** Number of exchanges that have begun and are not settled. */
  inFlight(): number;
  /** Calls the gateway as a client. */
  readonly calls: GatewayCalls;
  /** URL for clients, if known. */
  publicUrl(): string | undefined;
}
