import type { Clock } from '../../clock.ts';
import type { Limit } from './limit-table.ts';
import type { LimitStatus } from './state-store.ts';

/** Where an account stood under one limit when the shared store was last heard. */
export interface LastKnownStatus {
  /** What all instances together had used. */
  readonly used: number;
  /** What of that this instance had used. */
  readonly own: number;
  /** Until it counts no longer, from now. */
  readonly reset_ms: number;
}

interface Heard {
  readonly status: LimitStatus;
  readonly own: LimitStatus;
  readonly at_ms: number;
}

/** Accounts that are remembered: those that were last heard of. */
const max_accounts = 10_000;

/** What the shared store last said about each account, limit by limit: an exchange may ask about some of them at a time. */
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
      heard.set(keyOf(status.limit), { status, own: own[at]!, at_ms });
    // Those that are heard of most recently stand last.
    this.#accounts.delete(account);
    this.#accounts.set(account, heard);
    if (this.#accounts.size <= max_accounts) return;
    const [oldest] = this.#accounts.keys();
    this.#accounts.delete(oldest!);
  }

  /** `undefined` where nothing was heard, or nothing that still counts. */
  of(account: string, limit: Limit): LastKnownStatus | undefined {
    const heard = this.#accounts.get(account)?.get(keyOf(limit));
    if (!heard) return undefined;
    const reset_ms = heard.status.reset_ms - (this.#clock.elapsed_ms() - heard.at_ms);
    if (reset_ms <= 0) return undefined;
    return { used: usedOf(heard.status), own: usedOf(heard.own), reset_ms };
  }
}

const keyOf = ({ name, model }: Limit): string => (model === undefined ? name : `${name} ${model}`);
const usedOf = ({ limit, remaining }: LimitStatus): number => limit.max - remaining;
