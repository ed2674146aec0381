import type { Outage } from '../records/outage.ts';

/** The limits of a plan by their names in the configuration (protocol i5). */
export type LimitName =
  | 'requests_per_minute'
  | 'tokens_per_minute'
  | 'tokens_per_day'
  | 'concurrent_requests'
  | 'usd_per_month';

/**
 * One limit of an account. What is counted under it is found by `name` and `model` alone, so that another `max` does not
 * reset what was used.
 */
export interface Limit {
  readonly name: LimitName;
  /** A limit on one model of the catalog; without it, on all that the account does. */
  readonly model?: string | undefined;
  /** Requests, tokens, or billionths of a US dollar (`usd_per_month`): always an integer. */
  readonly max: number;
}

/** What an exchange asks of its account's limits before it goes upstream. */
export interface ReservationRequest {
  /** Names the lease of its concurrency. Unique among all that share the store, so never the client's own `x-request-id`. */
  readonly id: string;
  readonly account: string;
  readonly limits: readonly Limit[];
  /**
   * Reserved until settlement: the request, tokens of prompt and estimated completion, and what they will cost. More than the whole of
   * a limit is admitted by it when nothing else counts, since it would be refused for ever.
   */
  readonly charge: Charge;
  /** Count even what is over a limit, and admit it (`dry_run`). */
  readonly force?: boolean;
}

/** What is counted against limits of requests, of tokens and of money. Integers. */
export interface Charge {
  /** 1; at settlement 0 for an exchange that was refused before an upstream was asked, which gives its request back as well. */
  readonly requests: number;
  readonly tokens: number;
  /** Billionths of a US dollar, rounded up. */
  readonly nano_usd: number;
}

/** Where an account stands under one limit, after what was asked has been answered. */
export interface LimitStatus {
  readonly limit: Limit;
  /** How much more would be admitted now; never below 0, also in debt. */
  readonly remaining: number;
  /** Until everything that counts now counts no longer: 0 when nothing does, and for concurrency, where nobody can know. */
  readonly reset_ms: number;
}

export type ReservationResult =
  | { readonly admitted: true; readonly statuses: readonly LimitStatus[]; readonly reservation: Reservation }
  | {
      readonly admitted: false;
      readonly statuses: readonly LimitStatus[];
      /** The limit that would admit it last. */
      readonly refused_by: Limit;
      /** Until the same request would be admitted if nothing else were asked; at least 1. 1000 for concurrency, where nobody can know. */
      readonly retry_ms: number;
    };

/** What was taken. Settled exactly once, whatever becomes of the exchange. */
export interface Reservation {
  /** Which limits the reservation would have broken; empty but for `force`. */
  readonly over: readonly Limit[];
  /**
   * Ends the lease and puts `used` in place of the reservation: the rest is given back to the moment at which it was taken, as far as that
   * still counts, or more is charged to the present moment, into debt if need be. Never throws and never delays an exchange; settling
   * again does nothing.
   */
  settle(used: Charge): void;
}

/** A store whose server does not answer. */
export interface StateOutage extends Outage {
  /** Nobody who has limits is admitted meanwhile. */
  readonly refuses: boolean;
}

/**
 * Counters and concurrency of all accounts, shared by all instances that use the same store.
 *
 * - Minutes slide: in no 60 s are more than `max` admitted, and what was taken makes room again 60 to 61 s later.
 * - Days and months are the calendar's, in UTC.
 * - Concurrency is a lease per exchange, kept alive by its holder until it is settled, so that the leases of a dead process end by themselves.
 */
export interface StateStore {
  /**
   * Either all limits admit and all are taken, or none is. Answers within the store's time-out, whatever becomes of its server; throws
   * `server_error` where it is out and may not decide without it.
   */
  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult>;
  /** Where `account` stands, without taking anything. */
  statuses(
    account: string,
    limits: readonly Limit[],
  ): readonly LimitStatus[] | Promise<readonly LimitStatus[]>;
  /** The same as far as this process knows it without asking anybody: the limits of which it has heard, as they stood then. */
  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[];
  /** Resolves when the store can be asked, or has failed to be there; without it there is nothing to wait for. */
  started?(): Promise<void>;
  /** Set while the store's server does not answer. */
  readonly outage?: StateOutage | undefined;
  /** Ends timers and connections; leases that are still held end by themselves. */
  close(): Promise<void>;
}
