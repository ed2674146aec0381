import type { Clock } from '../../../common/clock.ts';
import { isCalendar, type Limit } from '../../../gateway/limits/limit-table.ts';
import type { LeaseAnswer, LeaseMessage, LeaseTimes, SharedTable } from '../../../records/lease-protocol.ts';
import type { CounterOwner } from '../counters/counter-groups.ts';
import { type Now, type PastUse, Present } from '../counters/counters.ts';
import { AccountTable } from './account-table.ts';

/** How many accounts each message checks, to forget those without use and holders: more than it can add. */
const swept_per_message = 2;

/**
 * Counts limits for several holders: use and blocks together are at most the limit at every moment, but for what settlements and forced
 * requests charge beyond it. Only its own clock counts. A table that has lost its state has another `generation`: blocks of the one before
 * end when their holders hear of it, and in the windows of that moment at most one more limit is admitted.
 */
export class LeaseTable implements SharedTable {
  readonly #clock: Clock;
  readonly #generation: string;
  readonly #times: LeaseTimes;
  readonly #present = new Present();
  readonly #accounts = new Map<string, AccountTable>();
  #sweep = this.#accounts.entries();
  #asked: (readonly [holder: string, account: string])[] = [];

  constructor(clock: Clock, generation: string, times: LeaseTimes) {
    this.#clock = clock;
    this.#generation = generation;
    this.#times = times;
  }

  /** How many accounts are remembered. */
  get size(): number {
    return this.#accounts.size;
  }

  /** Counts a message, once, and answers it. */
  exchange(holder: string, message: LeaseMessage): LeaseAnswer {
    const now = this.#now();
    this.#forgetIdle(now);
    return this.#answer(holder, message, now);
  }

  /** The holders whose blocks requests have waited for since the last call. To tell them is not necessary: they hear it when they poll. */
  takeAsked(): readonly (readonly [holder: string, account: string])[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  /** Those of the limits on the calendar that nothing counts under yet. */
  lacking(account: string, limits: readonly Limit[]): readonly Limit[] {
    return this.#accounts.get(account)?.lacking(limits) ?? limits.filter(isCalendar);
  }

  /** The limits under which `owner` is counted. */
  counted(owner: CounterOwner): readonly Limit[] {
    return this.#accountOf(owner.account).counted(owner);
  }

  /** Raises what counts in the present periods to at least the past use of `owner`: under `limits`, or all that are counted. */
  raise(owner: CounterOwner, past: PastUse, limits?: readonly Limit[]): void {
    this.#accountOf(owner.account).raise(owner, past, this.#now(), limits);
  }

  /** Ends a holder that is known to be dead, without waiting for its expiry. */
  end(holder: string): void {
    const now = this.#now();
    for (const account of this.#accounts.values()) account.end(holder, now);
  }

  #answer(holder: string, message: LeaseMessage, now: Now): LeaseAnswer {
    const { account, session, seq, as_of } = message;
    const at = { generation: this.#generation, at_ms: now.elapsed_ms };
    const lost = { account, session, seq, as_of: at };
    // An older message may be a late copy of one that was counted in a session that is forgotten.
    const isNew = as_of && now.elapsed_ms - as_of.at_ms < this.#times.remembered_ms;
    if (!isNew || as_of.generation !== this.#generation) return lost;
    const table = this.#accountOf(account);
    const answer = table.exchange(holder, message, now, at);
    if (answer?.counted?.verdicts.some(({ is_held }) => is_held))
      for (const other of table.holdersBut(holder)) this.#asked.push([other, account]);
    return answer ?? lost;
  }

  #accountOf(name: string): AccountTable {
    let account = this.#accounts.get(name);
    if (!account) this.#accounts.set(name, (account = new AccountTable(this.#times)));
    return account;
  }

  #forgetIdle(now: Now): void {
    for (let checked = 0; checked < swept_per_message; checked++) {
      const { done, value } = this.#sweep.next();
      if (done) {
        this.#sweep = this.#accounts.entries();
        return;
      }
      if (value[1].forgetIdle(now)) this.#accounts.delete(value[0]);
    }
  }

  #now(): Now {
    return this.#present.read(this.#clock);
  }
}
