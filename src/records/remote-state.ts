import type { Limit } from '../gateway/limits/limit-table.ts';
import type { Charge } from '../gateway/limits/limit-units.ts';
import type { LimitStatus, ReservationRequest, ReservationResult } from '../gateway/limits/state-store.ts';

/** An exchange's reservation in a remote store; unconfirmed while the store does not answer. */
export interface Hold {
  /** What was reserved. */
  readonly request: ReservationRequest;
  /** On the clock of this process. */
  readonly reserved_ms: number;
  /** The connection (`RemoteServer.life`) on which the store confirmed it; absent without a confirmation. */
  readonly life: number | undefined;
}

/** The end of a hold. May be sent repeatedly: it counts once. */
export interface Settlement {
  /** What is settled. */
  readonly hold: Hold;
  /** What was used. */
  readonly used: Charge;
  /** When it was settled, on the clock of this process. */
  readonly settled_ms: number;
  /** The store had the hold for certain when this was first sent; decided with `sent_ms`. */
  certain?: boolean | undefined;
  /** When it was first sent; not set by an attempt that the store has answered with an error. */
  sent_ms?: number | undefined;
}

/**
 * The store was not reached, or did not answer in time; the operation may have been done all the same. Errors with the same `cause` are one
 * incident, such as one silence in which many operations waited.
 */
export class Unreachable extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'Unreachable';
}

/** The store answered that it cannot work now (out of memory, read-only, loading …). Nothing was done. */
export class CannotServe extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'CannotServe';
}

/** The store works and refuses this command at every attempt: a key of another type, a script that fails. */
export class CommandRejected extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'CommandRejected';
}

/** A settlement that may have been done so long ago that the store has forgotten whether it was. */
export class TooLate extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'TooLate';
}

/** The answer of a remote store to a reservation. */
export type RemoteReservationResult =
  | { readonly admitted: true; readonly statuses: readonly LimitStatus[]; readonly over: readonly Limit[] }
  | Extract<ReservationResult, { admitted: false }>;

/** A server of a remote store: the only one, or one of several that share the accounts. */
export interface RemoteServer {
  /** Another number for each connection of each server: state of one may be missing in the next. */
  readonly life: number;
  /** True once it has no accounts any more. */
  readonly isGone: boolean;
  /** Writes this instance's heartbeat, which counts for `lives_ms` and fails where nothing can be written. Resolves with the number of instances. */
  heartbeat(lives_ms: number): Promise<number>;
}

/**
 * A store of counters and concurrency in other processes. Every method may reject, at the latest after its time-out, and what has
 * rejected may have been done all the same.
 */
export interface RemoteState {
  /** The server that has an account at this moment; the same object while it does. */
  serverOf(account: string): RemoteServer;
  /** All that are known at this moment. */
  servers(): readonly RemoteServer[];
  /** Reserves under all limits or none. */
  reserve(request: ReservationRequest): Promise<RemoteReservationResult>;
  /** Rejects with TooLate where doing it might count it twice. */
  settle(settlement: Settlement): Promise<void>;
  /** Extends the leases and reservations of `holds`. */
  renew(holds: readonly Hold[]): Promise<void>;
  /** The use of limits; reserves nothing. */
  statuses(account: string, limits: readonly Limit[]): Promise<readonly LimitStatus[]>;
  /** Removes this instance from the store where possible, and ends the connections. */
  close(): Promise<void>;
}
