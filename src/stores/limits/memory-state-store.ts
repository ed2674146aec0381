import { type Clock, systemClock } from '../../clock.ts';
import { Calendar } from './calendar.ts';
import { CalendarSum, type Counter, type Now, type Place, Running, SlidingMinute } from './counters.ts';
import type { PastUse } from './past-use.ts';
import type {
  Charge,
  Limit,
  LimitName,
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateStore,
} from './state-store.ts';

/** How many accounts each take looks at, to forget those under which nothing counts: more than it can add. */
const swept_per_take = 2;
/** How long it is left at that when all have been looked at. */
const sweep_pause_ms = 1000;

const none: readonly Limit[] = [];

/** Limits on days and months. */
export const isCalendar = ({ name }: Limit): boolean => name === 'tokens_per_day' || name === 'usd_per_month';

/** The counters of one account on all its models, or on one model. */
class CounterSet {
  requests_per_minute: SlidingMinute | undefined;
  tokens_per_minute: SlidingMinute | undefined;
  tokens_per_day: CalendarSum | undefined;
  concurrent_requests: Running | undefined;
  usd_per_month: CalendarSum | undefined;

  /** The counter of that name, made when it is first asked for. */
  of(name: LimitName): Counter {
    switch (name) {
      case 'requests_per_minute':
        return (this.requests_per_minute ??= new SlidingMinute());
      case 'tokens_per_minute':
        return (this.tokens_per_minute ??= new SlidingMinute());
      case 'tokens_per_day':
        return (this.tokens_per_day ??= new CalendarSum('day'));
      case 'concurrent_requests':
        return (this.concurrent_requests ??= new Running());
      case 'usd_per_month':
        return (this.usd_per_month ??= new CalendarSum('month'));
    }
  }

  /** Drops what counts nothing; whether that was all. */
  forget(now: Now): boolean {
    if (!this.concurrent_requests?.used()) this.concurrent_requests = undefined;
    if (!this.requests_per_minute?.used(now)) this.requests_per_minute = undefined;
    if (!this.tokens_per_minute?.used(now)) this.tokens_per_minute = undefined;
    if (!this.tokens_per_day?.used(now)) this.tokens_per_day = undefined;
    if (!this.usd_per_month?.used(now)) this.usd_per_month = undefined;
    return !(
      this.concurrent_requests ||
      this.requests_per_minute ||
      this.tokens_per_minute ||
      this.tokens_per_day ||
      this.usd_per_month
    );
  }
}

class AccountCounters {
  readonly #overall = new CounterSet();
  #models: Map<string, CounterSet> | undefined;
  /** Tickets that are not settled; they hold on to the counters. */
  reservations = 0;

  of({ name, model }: Limit): Counter {
    if (model === undefined) return this.#overall.of(name);
    this.#models ??= new Map();
    let counters = this.#models.get(model);
    if (!counters) this.#models.set(model, (counters = new CounterSet()));
    return counters.of(name);
  }

  /** Whether it has been asked for. */
  has({ name, model }: Limit): boolean {
    const counters = model === undefined ? this.#overall : this.#models?.get(model);
    return counters?.[name] !== undefined;
  }

  /** Drops what counts nothing; whether the account can be forgotten. */
  forget(now: Now): boolean {
    let isEmpty = this.#overall.forget(now);
    for (const [model, counters] of this.#models ?? []) {
      if (counters.forget(now)) this.#models!.delete(model);
      else isEmpty = false;
    }
    return isEmpty && this.reservations === 0;
  }
}

/** The share of a charge that counts under a limit. A lease is one as long as it is held. */
function amountOf(name: LimitName, charge: Charge, lease: 0 | 1): number {
  switch (name) {
    case 'requests_per_minute':
      return charge.requests;
    case 'concurrent_requests':
      return lease;
    case 'usd_per_month':
      return charge.nano_usd;
    default:
      return charge.tokens;
  }
}

/**
 * The state of one process, which ends with it. Answers without a promise. An account costs memory as long as something counts under its
 * limits: a minute, or the rest of the day or month where it has such limits; then it is forgotten, a few at every take.
 */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountCounters>();
  #sweep: Iterator<[string, AccountCounters]> | undefined;
  #swept_ms = Number.NEGATIVE_INFINITY;
  readonly #calendar = new Calendar();
  readonly #nowAgain = () => this.#now();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** How many accounts are remembered. */
  get size(): number {
    return this.#accounts.size;
  }

  reserve(request: ReservationRequest): ReservationResult {
    const { account: id, limits, charge, force } = request;
    const now = this.#now();
    this.#forgetIdle(now);
    const account = this.#counters(id);
    let refusedBy: Limit | undefined;
    let retry_ms = 0;
    let over = none;
    for (const limit of limits) {
      // What exceeds a whole limit is admitted by it when nothing else counts.
      const amount = Math.min(amountOf(limit.name, charge, 1), limit.max);
      const wait_ms = account.of(limit).wait_ms(amount, limit.max, now);
      if (wait_ms === 0) continue;
      if (force) over = [...over, limit];
      else if (wait_ms > retry_ms) {
        refusedBy = limit;
        retry_ms = wait_ms;
      }
    }
    if (refusedBy) {
      const statuses = statusesOf(account, limits, now);
      return {
        admitted: false,
        statuses,
        refused_by: refusedBy,
        retry_ms: Math.max(1, Math.ceil(retry_ms)),
      };
    }
    const reservation = new MemoryReservation(account, request, over, now, this.#nowAgain);
    return { admitted: true, statuses: statusesOf(account, limits, now), reservation };
  }

  statuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return statusesOf(this.#accounts.get(account) ?? new AccountCounters(), limits, this.#now());
  }

  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.statuses(account, limits);
  }

  /** Whether it counts nothing yet under one of the limits on days and months. */
  lacks(account: string, limits: readonly Limit[]): boolean {
    const counters = this.#accounts.get(account);
    return limits.some(limit => isCalendar(limit) && !counters?.has(limit));
  }

  /** Counts at least what has been used already, of the day and month that count now. */
  raise(account: string, limits: readonly Limit[], past: PastUse): void {
    const now = this.#now();
    const counters = this.#counters(account);
    for (const limit of limits) {
      const counter = counters.of(limit);
      if (!(counter instanceof CalendarSum)) continue;
      const isNow = limit.name === 'tokens_per_day' ? past.day === now.day : past.month === now.month;
      counter.raise(isNow ? past.of(limit) : 0, now);
    }
  }

  async close(): Promise<void> {}

  #counters(id: string): AccountCounters {
    let account = this.#accounts.get(id);
    if (!account) this.#accounts.set(id, (account = new AccountCounters()));
    return account;
  }

  #now(): Now {
    const epoch_ms = this.#clock.epoch_ms();
    const elapsed_ms = this.#clock.elapsed_ms();
    const { day, day_ends_ms, month, month_ends_ms } = this.#calendar.at(epoch_ms, elapsed_ms);
    return { elapsed_ms, epoch_ms, day, day_ends_ms, month, month_ends_ms };
  }

  #forgetIdle(now: Now): void {
    if (!this.#sweep && now.elapsed_ms - this.#swept_ms < sweep_pause_ms) return;
    this.#sweep ??= this.#accounts.entries();
    for (let looked = 0; looked < swept_per_take; looked++) {
      const { done, value } = this.#sweep.next();
      if (done) {
        this.#sweep = undefined;
        this.#swept_ms = now.elapsed_ms;
        return;
      }
      const [id, account] = value;
      if (account.forget(now)) this.#accounts.delete(id);
    }
  }
}

function statusesOf(account: AccountCounters, limits: readonly Limit[], now: Now): LimitStatus[] {
  return limits.map(limit => {
    const counter = account.of(limit);
    return {
      limit,
      remaining: Math.max(0, limit.max - counter.used(now)),
      reset_ms: Math.ceil(counter.reset_ms(now)),
    };
  });
}

/** What was taken of each limit, and where. */
class MemoryReservation implements Reservation {
  readonly over: readonly Limit[];
  readonly #account: AccountCounters;
  readonly #request: ReservationRequest;
  readonly #now: () => Now;
  readonly #places: readonly Place[];
  #settled = false;

  constructor(
    account: AccountCounters,
    request: ReservationRequest,
    over: readonly Limit[],
    now: Now,
    nowAgain: () => Now,
  ) {
    this.over = over;
    this.#account = account;
    this.#request = request;
    this.#now = nowAgain;
    const { limits, charge } = request;
    this.#places = limits.map(limit => account.of(limit).add(amountOf(limit.name, charge, 1), now));
    account.reservations++;
  }

  settle(used: Charge): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#account.reservations--;
    const now = this.#now();
    const { limits, charge } = this.#request;
    for (const [at, limit] of limits.entries()) {
      const counter = this.#account.of(limit);
      const more = amountOf(limit.name, used, 0) - amountOf(limit.name, charge, 1);
      if (more > 0) counter.add(more, now);
      else if (more < 0) counter.giveBack(-more, this.#places[at]!, now);
    }
  }
}
