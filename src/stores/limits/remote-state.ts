import type { Limit } from './limit-table.ts';
import type { Charge } from './limit-units.ts';
import type { LimitStatus, ReservationRequest, ReservationResult } from './state-store.ts';

/** What an exchange holds in a remote store, or may hold there: nobody knows while the store does not answer. */
export interface Hold {
  readonly request: ReservationRequest;
  /** On the clock of this process. */
  readonly taken_ms: number;
  /** In which life of the connection the store said that it was taken; absent where it never did. */
  readonly life: number | undefined;
}

/** The end of a hold. May be sent again and again: it counts once. */
export interface Settlement {
  readonly hold: Hold;
  readonly used: Charge;
  readonly settled_ms: number;
  /** The store is certain to have had the hold when this was first sent; decided with `sent_ms`. */
  certain?: boolean | undefined;
  /** When it was first sent; not set by a sending of which the store said that it did nothing. */
  sent_ms?: number | undefined;
}

/**
 * The store was not reached, or did not answer in time; what was asked may have been done all the same. Those with the same `cause` are one
 * incident, such as one silence in which many operations waited.
 */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** The store answered that it can do no work now (out of memory, read-only, loading …). Nothing was done. */
export class CannotServe extends Error {
  override readonly name = 'CannotServe';
}

/** The store works and will not do this one thing, however often it is asked: a key of another type, a script that fails. */
export class CommandRejected extends Error {
  override readonly name = 'CommandRejected';
}

/** A settlement that may have been done so long ago that the store no longer remembers whether it was. */
export class TooLate extends Error {
  override readonly name = 'TooLate';
}

/** What a remote store says to a take: what a StateStore says, but for the reservation. */
export type RemoteReservationResult =
  | { readonly admitted: true; readonly statuses: readonly LimitStatus[]; readonly over: readonly Limit[] }
  | Extract<ReservationResult, { admitted: false }>;

/**
 * A store of counters and concurrency in another process. Everything may reject, at the latest after its time-out, and what has
 * rejected may have been done all the same.
 */
export interface RemoteState {
  /** How many times the connection has come up. */
  readonly life: number;
  reserve(request: ReservationRequest): Promise<RemoteReservationResult>;
  /** Rejects with TooLate where doing it might count it twice. */
  settle(settlement: Settlement): Promise<void>;
  /** Keeps the leases and reservations of `holds` alive. */
  renew(holds: readonly Hold[]): Promise<void>;
  statuses(account: string, limits: readonly Limit[]): Promise<readonly LimitStatus[]>;
  /** Writes this instance's sign of life, so that it fails where nothing can be written. Resolves with how many instances there are. */
  pulse(): Promise<number>;
  /** Says that this instance leaves, as far as that can be said, and ends the connection. */
  close(): Promise<void>;
}
