import type { Clock } from '../../clock.ts';
import type { Limit, Standing } from './state-store.ts';

/** Where an account stood under one limit when the shared store was last heard. */
export interface HeardStanding {
  /** What all instances together had used. */
  readonly used: number;
  /** What of that this instance had used. */
  readonly own: number;
  /** Until it counts no longer, from now. */
  readonly reset_ms: number;
}

interface Heard {
  readonly standings: readonly Standing[];
  readonly own: readonly Standing[];
  readonly at_ms: number;
}

/** Accounts that are remembered: those that were last heard of. */
const max_accounts = 10_000;

/** What the shared store last said about each account. */
export class LastHeard {
  readonly #clock: Clock;
  /** By account and by the model whose limits were told with those of the account. */
  readonly #accounts = new Map<string, Map<string, Heard>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `standings` are those of all instances, `own` those of this one, in the same order. */
  note(account: string, standings: readonly Standing[], own: readonly Standing[]): void {
    const heard = this.#accounts.get(account) ?? new Map<string, Heard>();
    heard.set(standings.at(-1)?.limit.model ?? '', { standings, own, at_ms: this.#clock.elapsed_ms() });
    // Those that are heard of most recently stand last.
    this.#accounts.delete(account);
    this.#accounts.set(account, heard);
    if (this.#accounts.size <= max_accounts) return;
    const [oldest] = this.#accounts.keys();
    this.#accounts.delete(oldest!);
  }

  /** `undefined` where nothing was heard, or nothing that still counts. */
  of(account: string, limit: Limit): HeardStanding | undefined {
    let latest: { heard: Heard; at: number } | undefined;
    for (const heard of this.#accounts.get(account)?.values() ?? []) {
      const at = heard.standings.findIndex(standing => isSame(standing.limit, limit));
      if (at !== -1 && (!latest || heard.at_ms > latest.heard.at_ms)) latest = { heard, at };
    }
    if (!latest) return undefined;
    const { heard, at } = latest;
    const reset_ms = heard.standings[at]!.reset_ms - (this.#clock.elapsed_ms() - heard.at_ms);
    if (reset_ms <= 0) return undefined;
    return { used: usedOf(heard.standings[at]!), own: usedOf(heard.own[at]!), reset_ms };
  }
}

const isSame = (one: Limit, other: Limit): boolean => one.name === other.name && one.model === other.model;
const usedOf = ({ limit, remaining }: Standing): number => limit.max - remaining;
