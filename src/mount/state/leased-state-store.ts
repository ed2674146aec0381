import type { Clock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import { RepeatingTask } from '../../common/repeating-task.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import { amountsOf, type Limit } from '../../gateway/limits/limit-table.ts';
import type { Charge } from '../../gateway/limits/limit-units.ts';
import type {
  LimitStatus,
  LimitStatuses,
  ReservationRequest,
  ReservationResult,
  StateOutage,
  StateStore,
} from '../../gateway/limits/state-store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { HeldReservation } from './leases/held-account.ts';
import { LeaseHolder } from './leases/lease-holder.ts';
import {
  type LeaseAnswer,
  type LeaseMessage,
  type LeaseTimes,
  process_times,
} from './leases/lease-protocol.ts';

/** The longest that a request waits: the primary itself may wait two seconds for the ledger. */
const patience_ms = 10_000;

const unlimited: ReservationResult = { admitted: true, statuses: [], reservation: { over: [], settle() {} } };

/** Sends a message to the table, of this process or another. Rejects if that cannot be reached. */
export type LeaseExchange = (message: LeaseMessage) => LeaseAnswer | Promise<LeaseAnswer>;

export interface LeasedStateSetup {
  readonly clock: Clock;
  readonly log: Log;
  readonly times?: LeaseTimes;
}

/** A request that waits for the table. */
interface Waiting {
  readonly account: string;
  decided(): void;
  give_up(fault: unknown): void;
}

/**
 * Limits that the primary process counts for all processes, which reserve from blocks of them without asking. While it does not answer,
 * accounts with limits are refused with `server_error`, at first after ten seconds and then at once: only it knows what is left.
 */
export class LeasedStateStore implements StateStore {
  readonly #exchange: LeaseExchange;
  readonly #setup: LeasedStateSetup;
  readonly #times: LeaseTimes;
  readonly #holder: LeaseHolder;
  /** In the order in which they came. */
  readonly #waiting = new Map<HeldReservation, Waiting>();
  readonly #underWay = new Set<Promise<void>>();
  #outage: Outage | undefined;
  readonly #ticks = new RepeatingTask(async () => this.#tick());

  constructor(exchange: LeaseExchange, setup: LeasedStateSetup) {
    this.#exchange = exchange;
    this.#setup = setup;
    this.#times = setup.times ?? process_times;
    this.#holder = new LeaseHolder(this.#times);
  }

  get outage(): StateOutage | undefined {
    return this.#outage && { ...this.#outage, refuses: true };
  }

  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult> {
    const { account, limits, charge, force } = request;
    if (limits.length === 0) return unlimited;
    if (this.#outage) return withoutAnswer(request, this.#outage.cause);
    const amounts = amountsOf(limits, charge, 1);
    const held = this.#holder.reserve(account, limits, amounts, this.#now_ms, force);
    const decision = held.state === 'waiting' ? this.#decision(account, held) : undefined;
    if (!decision) return this.#resultOf(account, held);
    return decision.then(
      () => this.#resultOf(account, held),
      cause => withoutAnswer(request, cause),
    );
  }

  async statuses(account: string, limits: readonly Limit[]): Promise<LimitStatuses> {
    if (this.#outage) throw unanswered(this.#outage.cause);
    const held = this.#holder.ask(account, limits, this.#now_ms);
    await this.#decision(account, held)?.catch(cause => {
      throw unanswered(cause);
    });
    held.settle([]);
    return this.#statusesOf(held);
  }

  knownStatuses(account: string, limits: readonly Limit[]): LimitStatuses {
    return limits.flatMap(limit => {
      const status = this.#holder.status(account, limit, this.#now_ms);
      return status ? [{ limit, ...status }] : [];
    });
  }

  /** Another process waits for what this one does not use of an account. */
  askBack(account: string): void {
    this.#holder.askBack(account);
    this.#send(account);
  }

  /** Gives back what is not in use, and reports what was. The primary ends the rest when the channel closes. */
  async close(): Promise<void> {
    await this.#ticks.close();
    for (;;) {
      for (const message of this.#holder.end(this.#now_ms)) this.#deliver(message);
      if (this.#underWay.size === 0 || this.#outage) return;
      await Promise.all(this.#underWay);
    }
  }

  get #now_ms(): number {
    return this.#setup.clock.elapsed_ms();
  }

  /** Asks the table about a reservation that waits; undefined if it has answered already. */
  #decision(account: string, held: HeldReservation): Promise<void> | undefined {
    this.#send(account);
    if (held.state !== 'waiting') return undefined;
    this.#ticks.runIn(this.#times.retry_ms);
    return new Promise((decided, give_up) => this.#waiting.set(held, { account, decided, give_up }));
  }

  #resultOf(account: string, held: HeldReservation): ReservationResult {
    const statuses = this.#statusesOf(held);
    const { refused_by, retry_ms, over, limits } = held;
    if (held.state !== 'admitted')
      return {
        admitted: false,
        statuses,
        refused_by: refused_by!,
        retry_ms: Math.max(1, Math.ceil(retry_ms)),
      };
    let isSettled = false;
    const settle = (used: Charge) => {
      if (isSettled) return;
      isSettled = true;
      held.settle(amountsOf(limits, used, 0));
      this.#send(account);
    };
    return { admitted: true, statuses, reservation: { over, settle } };
  }

  #statusesOf({ limits, rows }: HeldReservation): LimitStatus[] {
    const now_ms = this.#now_ms;
    return limits.flatMap((limit, at) => {
      const status = rows[at]!.status(limit.max, now_ms);
      return status ? [{ limit, ...status }] : [];
    });
  }

  /** Sends what is due of an account. */
  #send(account: string): void {
    const message = this.#holder.due(account, this.#now_ms);
    if (message) this.#deliver(message);
  }

  #deliver(message: LeaseMessage): void {
    const { account } = message;
    this.#ticks.runIn(this.#times.patience_ms / 2);
    const answer = this.#exchange(message);
    if (!(answer instanceof Promise)) return this.#receive(account, answer);
    const received = answer
      .then(
        answer => this.#receive(account, answer),
        fault => this.#failed(account, fault),
      )
      .finally(() => this.#underWay.delete(received));
    this.#underWay.add(received);
  }

  #receive(account: string, answer: LeaseAnswer): void {
    if (this.#outage) {
      this.#outage = undefined;
      this.#setup.log.warn('the primary process answers again');
    }
    for (const held of this.#holder.receive([answer], this.#now_ms)) {
      this.#waiting.get(held)?.decided();
      this.#waiting.delete(held);
    }
    this.#send(account);
  }

  /** It may have been counted: what it asked for is taken back when it is answered later. */
  #failed(account: string, fault: unknown): void {
    this.#silent(fault);
    for (const [held, waiting] of this.#waiting)
      if (waiting.account === account) this.#giveUp(held, waiting, fault);
  }

  #giveUp(held: HeldReservation, { give_up }: Waiting, fault: unknown): void {
    this.#waiting.delete(held);
    held.cancel();
    give_up(fault);
  }

  #tick(): number | undefined {
    const now_ms = this.#now_ms;
    for (const [held, waiting] of this.#waiting) {
      if (now_ms - held.since_ms < patience_ms) break;
      this.#giveUp(held, waiting, this.#silent(new Error('the primary process does not answer')));
    }
    for (const message of this.#holder.tick(now_ms)) this.#deliver(message);
    const { retry_ms, patience_ms: held_ms } = this.#times;
    if (this.#waiting.size > 0) return retry_ms;
    return this.#holder.size > 0 ? held_ms / 2 : undefined;
  }

  /** The reason of the outage, which begins now if there is none. */
  #silent(cause: unknown): unknown {
    if (this.#outage) return this.#outage.cause;
    this.#outage = { since_epoch_ms: this.#setup.clock.epoch_ms(), cause };
    this.#setup.log.error(
      { err: cause },
      'the primary process does not answer: accounts with limits are refused',
    );
    return cause;
  }
}

function withoutAnswer({ force }: ReservationRequest, cause: unknown): ReservationResult {
  if (force) return unlimited;
  throw unanswered(cause);
}

const unanswered = (cause: unknown) => refusal('server_error', { cause });
