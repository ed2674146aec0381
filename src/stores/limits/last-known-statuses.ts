import type { Clock } from '../../clock.ts';
import { counterKey, type Limit } from './limit-table.ts';
import type { LimitStatus } from './state-store.ts';

/** An account's use of one limit at the shared store's last answer. */
export interface LastKnownStatus {
  /** Use of all instances together. */
  readonly used: number;
  /** This instance's part of it. */
  readonly own: number;
  /** Milliseconds until it counts no longer. */
  readonly reset_ms: number;
}

interface Heard {
  readonly status: LimitStatus;
  readonly own: LimitStatus;
  readonly at_ms: number;
}

/** Number of accounts that are kept, the most recent ones. */
const max_accounts = 10_000;

/** The shared store's last answer for each account, limit by limit: an exchange may reserve under some of them. */
export class LastKnownStatuses {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Map<string, Heard>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `statuses` are those of all instances, `own` those of this one, in the same order. */
  note(account: string, statuses: readonly LimitStatus[], own: readonly LimitStatus[]): void {
    const heard = this.#accounts.get(account) ?? new Map<string, Heard>();
    const at_ms = this.#clock.elapsed_ms();
    for (const [at, status] of statuses.entries())
      heard.set(counterKey(status.limit), { status, own: own[at]!, at_ms });
    // Keeps the most recent account last.
    this.#accounts.delete(account);
    this.#accounts.set(account, heard);
    if (this.#accounts.size <= max_accounts) return;
    const [oldest] = this.#accounts.keys();
    this.#accounts.delete(oldest!);
  }

  /** `undefined` without an answer, or when its window has ended. */
  of(account: string, limit: Limit): LastKnownStatus | undefined {
    const heard = this.#accounts.get(account)?.get(counterKey(limit));
    if (!heard) return undefined;
    const reset_ms = heard.status.reset_ms - (this.#clock.elapsed_ms() - heard.at_ms);
    if (reset_ms <= 0) return undefined;
    return { used: usedOf(heard.status), own: usedOf(heard.own), reset_ms };
  }
}

const usedOf = ({ limit, remaining }: LimitStatus): number => limit.max - remaining;
