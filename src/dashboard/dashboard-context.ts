import type { Parts } from '../assemble.ts';
import type { GatewayCalls } from './gateway-calls.ts';

/** What pages show and change. */
export interface DashboardContext extends Parts {
  /** How many exchanges have begun and are not settled. */
  inFlight(): number;
  /** The gateway as its clients meet it. */
  readonly calls: GatewayCalls;
  /** Where clients reach it, as far as that is known. */
  publicUrl(): string | undefined;
}
