import QuickLRU from 'quick-lru';
import type { Clock } from '../../common/clock.ts';
import { counterKey, type Limit } from '../../gateway/limits/limit-table.ts';
import type { LimitStatus } from '../../gateway/limits/state-store.ts';

/** An account's use of one limit at the shared store's last answer. */
export interface KnownStatus {
  /** Use of all instances together. */
  readonly used: number;
  /** This instance's part of it. */
  readonly own: number;
  /** When it counts no longer, on the monotonic clock. */
  readonly ends_ms: number;
}

/** Accounts, and keys, whose last known status is kept: the 10,000 used last, and up to as many before them. */
const known_owners = { maxSize: 10_000 };

/** Statuses by `counterKey`. */
type KnownStatuses = Map<string, KnownStatus>;

/** What a store outside of this process has last answered about limits, as long as their windows last. */
export class KnownUse {
  readonly #clock: Clock;
  /** Limit by limit, since an exchange may reserve under some of an account's limits. */
  readonly #accounts = new QuickLRU<string, KnownStatuses>(known_owners);
  /** Those of limits of keys, apart: an account may have many keys. */
  readonly #keys = new QuickLRU<string, KnownStatuses>(known_owners);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes an answer, and how much of the use in it is this instance's own. */
  note(account: string, { limit, remaining, reset_ms }: LimitStatus, own = 0): void {
    const status = { used: limit.max - remaining, own, ends_ms: this.#clock.elapsed_ms() + reset_ms };
    const { key } = limit;
    const all = key === undefined ? this.#accounts : this.#keys;
    const known = all.get(key ?? account);
    if (known) known.set(counterKey(limit), status);
    else all.set(key ?? account, new Map([[counterKey(limit), status]]));
  }

  /** `undefined` without an answer, or when its window has ended. */
  of(account: string, limit: Limit): KnownStatus | undefined {
    const { key } = limit;
    const statuses = key === undefined ? this.#accounts.get(account) : this.#keys.get(key);
    const known = statuses?.get(counterKey(limit));
    return known && this.until(known) > 0 ? known : undefined;
  }

  /** Milliseconds until the window of `known` ends. */
  until({ ends_ms }: KnownStatus): number {
    return Math.ceil(ends_ms - this.#clock.elapsed_ms());
  }

  /** The last answer, less the time since, for those limits whose window has not ended. */
  statuses(account: string, limits: readonly Limit[]): LimitStatus[] {
    return limits.flatMap(limit => {
      const known = this.of(account, limit);
      if (!known) return [];
      return [{ limit, remaining: Math.max(0, limit.max - known.used), reset_ms: this.until(known) }];
    });
  }
}
