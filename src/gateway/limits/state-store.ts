import type { Outage } from '../../common/outage.ts';
import type { CacheStore } from '../cache/cache-store.ts';
import type { Limit } from './limit-table.ts';
import type { Charge } from './limit-units.ts';

/** What an exchange reserves of its account's limits before it goes upstream. */
export interface ReservationRequest {
  /** Id of the account; of one in a tree that of the tree's root, so that what its accounts share is counted in one place. */
  readonly account: string;
  /** The limits to reserve under: those of the account, of its parents, and of the key that was used. */
  readonly limits: readonly Limit[];
  /**
   * Reserved until settlement: the request, tokens of prompt and estimated completion, and their cost; under hard limits the most that it may
   * use, which is not above a whole limit. Other charges above a whole limit are admitted while it is unused, since they would be refused forever.
   */
  readonly charge: Charge;
  /** Count even what is over a limit, and admit it (`dry_run`). */
  readonly force?: boolean;
}

/** An account's use of one limit, after a decision. */
export interface LimitStatus {
  /** The limit. */
  readonly limit: Limit;
  /** How much more would be admitted now; never below 0, also in debt. */
  readonly remaining: number;
  /** How much is used above the limit: of one that is soft, or was lowered, or whose requests used more than they reserved. */
  readonly over?: number | undefined;
  /** Milliseconds until the window is empty; 0 if empty already, and always for concurrency. */
  readonly reset_ms: number;
}

/** How much of its limit is used, in the limit's unit; above its `max` while `over` is set. */
export const amountUsed = ({ limit, remaining, over = 0 }: LimitStatus): number =>
  limit.max - remaining + over;

/** The use of several limits. */
export type LimitStatuses = readonly LimitStatus[];

/** What a store answers: reserved under all limits, or refused by one and reserved under none. */
export type ReservationResult =
  | {
      /** Whether the exchange may go upstream. */
      readonly admitted: true;
      /** The use of each limit, the reservation included. */
      readonly statuses: readonly LimitStatus[];
      /** To be settled once, at the end of the exchange. */
      readonly reservation: Reservation;
    }
  | {
      /** Whether the exchange may go upstream. */
      readonly admitted: false;
      /** The use of each limit. */
      readonly statuses: readonly LimitStatus[];
      /** The limit that would admit it last. */
      readonly refused_by: Limit;
      /** Until the same request would be admitted if it were alone; at least 1. 1000 for concurrency, whose end is unknown. */
      readonly retry_ms: number;
    };

/** What an exchange has reserved. Settled exactly once, however the exchange ends. */
export interface Reservation {
  /** The limits that are exceeded; empty but for `force`. */
  readonly over: readonly Limit[];
  /**
   * Ends the lease and replaces the reservation by `used`: the rest is returned to the moment of the reservation, as far as that still
   * counts; what exceeds it is charged now, into debt if need be. Never throws or delays an exchange; settling again does nothing.
   */
  settle(used: Charge): void;
}

/** A state store whose server does not answer. */
export interface StateOutage extends Outage {
  /** Accounts with limits are refused meanwhile. */
  readonly refuses: boolean;
}

/**
 * Counters and concurrency of all accounts, shared by all instances that use the same store.
 *
 * - Minutes slide: in no 60 s is more than `max` admitted, and what was reserved leaves the window 60 to 61 s later.
 * - Days and months are the calendar's, in UTC.
 * - Concurrency is a lease per exchange, renewed by its process until it is settled, so that the leases of a dead process expire.
 */
export interface StateStore {
  /** Reserves under all limits or none. Answers within the store's time-out; throws `server_error` where it is down and its policy is `closed`. */
  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult>;
  /** The use of `limits` by `account`; reserves nothing. */
  statuses(account: string, limits: readonly Limit[]): LimitStatuses | Promise<LimitStatuses>;
  /** The same without a call to the server: the last known status of those limits that this process has seen. */
  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[];
  /** Resolves when the store can be used, or the first connection has failed; absent where there is no connection. */
  started?(): Promise<void>;
  /** Cache in the same place, for stages; absent where each process has its own, in memory. */
  readonly cache?: CacheStore | undefined;
  /** Set while the store's server does not answer. */
  readonly outage?: StateOutage | undefined;
  /** Ends timers and connections; leases that are still held expire. */
  close(): Promise<void>;
}
