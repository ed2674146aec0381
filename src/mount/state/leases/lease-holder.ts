import QuickLRU from 'quick-lru';
import type { Limit } from '../../../gateway/limits/limit-table.ts';
import type { LimitStatus } from '../../../gateway/limits/state-store.ts';
import type { LeaseAnswer, LeaseMessage, LeaseTimes, TableTime } from '../../../records/lease-protocol.ts';
import { HeldAccount, type HeldReservation } from './held-account.ts';
import type { HeldRow, Part } from './held-row.ts';

/** Accounts that are at rest and remembered: these, and up to as many before them. */
const resting_accounts = { maxSize: 5000 };

/**
 * A process that reserves from blocks of limits which a shared table has granted it, and asks the table where they do not suffice. It has no
 * timers and no connection: `due` is called after each `reserve` that waits, each `settle` and each answer, and `tick` every `retry_ms` while
 * requests wait and every half of `patience_ms` or `poll_ms` else. `now_ms` never runs backwards; clocks of different processes need not agree.
 */
export class LeaseHolder {
  readonly #times: LeaseTimes;
  readonly #accounts = new Map<string, HeldAccount>();
  /** Those of which nothing is held: what was last heard of their limits is still known. */
  readonly #resting = new QuickLRU<string, HeldAccount>(resting_accounts);
  #sessions = 0;
  #as_of: TableTime | undefined;

  constructor(times: LeaseTimes) {
    this.#times = times;
  }

  /** How many accounts are in use. */
  get size(): number {
    return this.#accounts.size;
  }

  /** Reserves `amounts` from blocks; undefined where these do not suffice. */
  take(
    account: string,
    limits: readonly Limit[],
    amounts: readonly number[],
    now_ms: number,
  ): HeldReservation | undefined {
    return this.#accountOf(account).take(limits, amounts, now_ms);
  }

  /** Counts what was admitted while the table could not be asked. */
  count(
    account: string,
    limits: readonly Limit[],
    amounts: readonly number[],
    now_ms: number,
  ): HeldReservation {
    return this.#accountOf(account).count(limits, amounts, now_ms);
  }

  /** Reserves `amounts` under all limits or none, or waits for the table; `force` counts also what is above a limit. */
  reserve(
    account: string,
    limits: readonly Limit[],
    amounts: readonly number[],
    now_ms: number,
    force = false,
  ): HeldReservation {
    return this.#accountOf(account).reserve(limits, amounts, now_ms, force);
  }

  /** Waits for the table's word on limits, without reserving anything. */
  ask(account: string, limits: readonly Limit[], now_ms: number): HeldReservation {
    return this.#accountOf(account).ask(limits, now_ms);
  }

  /** The message of an account to send now. */
  due(name: string, now_ms: number): LeaseMessage | undefined {
    const account = this.#accounts.get(name);
    return account?.isDue(now_ms) ? account.message(now_ms) : undefined;
  }

  /** The messages that give everything back that is not in use. To be called, and their answers received, until there are none. */
  end(now_ms: number): LeaseMessage[] {
    return [...this.#accounts.values()].flatMap(account => account.end(now_ms) ?? []);
  }

  /** The messages to send now. Those without an answer are repeated. */
  tick(now_ms: number): LeaseMessage[] {
    const messages: LeaseMessage[] = [];
    for (const [name, account] of this.#accounts)
      if (account.isDue(now_ms)) messages.push(account.message(now_ms));
      else if (account.isIdle(now_ms)) {
        this.#accounts.delete(name);
        this.#resting.set(name, account);
      }
    return messages;
  }

  /** Notes an answer, in any order and as often as it comes; returns the reservations that wait no more. */
  receive(answer: LeaseAnswer, now_ms: number): HeldReservation[] {
    this.#as_of = answer.as_of;
    return this.#accounts.get(answer.account)?.receive(answer, now_ms) ?? [];
  }

  /** The last message of an account was not answered, or not sent: it is due again. */
  unanswered(account: string): void {
    this.#accounts.get(account)?.unanswered();
  }

  /** The table says that another holder waits for what this one does not use of an account. */
  askBack(account: string): void {
    this.#accounts.get(account)?.askBack();
  }

  /** What is left of a limit, as far as that is known without asking. */
  status(account: string, limit: Limit, now_ms: number): LimitStatus | undefined {
    return this.#rowOf(account, limit)?.status(limit, now_ms);
  }

  /** How much of a limit one of `holders` may admit while none can ask, and for how long it remains the same; undefined where nothing is known. */
  partOf(account: string, limit: Limit, holders: number, now_ms: number): Part | undefined {
    return this.#rowOf(account, limit)?.partOf(limit.max, holders, now_ms);
  }

  #rowOf(account: string, limit: Limit): HeldRow | undefined {
    return (this.#accounts.get(account) ?? this.#resting.peek(account))?.row(limit);
  }

  #accountOf(name: string): HeldAccount {
    let account = this.#accounts.get(name);
    if (!account) {
      account = this.#resting.get(name);
      this.#resting.delete(name);
      account ??= new HeldAccount(name, this.#times, () => ++this.#sessions, this.#as_of);
      this.#accounts.set(name, account);
    }
    return account;
  }
}
