import type { Parts } from '../assemble.ts';

/** What pages show and change. */
export interface Desk extends Parts {
  /** How many exchanges have begun and are not settled. */
  inFlight(): number;
}
