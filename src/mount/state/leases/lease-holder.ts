import type { Limit } from '../../../gateway/limits/limit-table.ts';
import { HeldAccount, type HeldReservation } from './held-account.ts';
import type { LeaseAnswer, LeaseMessage, LeaseTimes, TableTime } from './lease-protocol.ts';

/**
 * A process that reserves from blocks of limits which a shared table has granted it, and asks the table where they do not suffice. It has no
 * timers and no connection: `due` is called after each `reserve` that waits, each `settle` and each answer, and `tick` every `retry_ms` while
 * requests wait and every `patience_ms / 2` else. `now_ms` never runs backwards; clocks of different processes need not agree.
 */
export class LeaseHolder {
  readonly #times: LeaseTimes;
  readonly #accounts = new Map<string, HeldAccount>();
  #sessions = 0;
  #as_of: TableTime | undefined;

  constructor(times: LeaseTimes) {
    this.#times = times;
  }

  /** How many accounts are remembered. */
  get size(): number {
    return this.#accounts.size;
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
      else if (account.isIdle(now_ms)) this.#accounts.delete(name);
    return messages;
  }

  /** Notes answers, in any order and as often as they come; returns the reservations that wait no more. */
  receive(answers: readonly LeaseAnswer[], now_ms: number): HeldReservation[] {
    return answers.flatMap(answer => {
      this.#as_of = answer.as_of;
      return this.#accounts.get(answer.account)?.receive(answer, now_ms) ?? [];
    });
  }

  /** The table says that another holder waits for what this one does not use of an account. */
  askBack(account: string): void {
    this.#accounts.get(account)?.askBack();
  }

  /** What is left of a limit, as far as that is known without asking. */
  status(account: string, limit: Limit, now_ms: number): { remaining: number; reset_ms: number } | undefined {
    return this.#accounts.get(account)?.row(limit)?.status(limit.max, now_ms);
  }

  #accountOf(name: string): HeldAccount {
    let account = this.#accounts.get(name);
    if (!account) {
      account = new HeldAccount(name, this.#times, () => ++this.#sessions, this.#as_of);
      this.#accounts.set(name, account);
    }
    return account;
  }
}
