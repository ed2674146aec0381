import type { Clock } from '../../common/clock.ts';
import { RepeatingTask } from '../../common/repeating-task.ts';
import { amountsOf, type Limit } from '../../gateway/limits/limit-table.ts';
import type { Charge } from '../../gateway/limits/limit-units.ts';
import type {
  LimitStatus,
  LimitStatuses,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateOutage,
  StateStore,
} from '../../gateway/limits/state-store.ts';
import type { ClosableCache } from '../../records/define-state-store.ts';
import type { LeaseAnswer, LeaseMessage, LeaseTimes, Verdict } from '../../records/lease-protocol.ts';
import type { HeldReservation } from './leases/held-account.ts';
import type { LeaseHolder } from './leases/lease-holder.ts';

const isHeld = ({ is_held }: Verdict): boolean => is_held;

/** What cannot be limited. */
export const unlimited: ReservationResult = {
  admitted: true,
  statuses: [],
  reservation: { over: [], settle() {} },
};

/** Where leases come from, and what decides while it does not answer. */
export interface LeaseSource {
  readonly times: LeaseTimes;
  /** What is held of it. */
  readonly holder: LeaseHolder;
  readonly cache?: ClosableCache | undefined;
  readonly outage: StateOutage | undefined;
  /** Resolves when it has been reached for the first time, or could not be. */
  started?(): Promise<void>;
  /** What the first request of an account waits for; undefined once there is nothing. */
  starting?(account: string): Promise<void> | undefined;
  /** Why it is not to be waited for; undefined while it can be. */
  fault(account: string): unknown;
  /** Sends a message; undefined if that is no use. */
  exchange(message: LeaseMessage): LeaseAnswer | Promise<LeaseAnswer> | undefined;
  /** Decides without it. */
  reserve(request: ReservationRequest, fault: unknown): ReservationResult;
  statuses(account: string, limits: readonly Limit[], fault: unknown): LimitStatuses;
  /** Lets the holder count what was decided without it: of an account, or of all that can be reported now. */
  handOver?(account?: string): void;
  /** Tells other processes that one waits for what they do not use of an account. */
  ask?(account: string): void;
  /** Calls back with the accounts that others have asked for. */
  onAsked?(listener: (account: string) => void): void;
  /** Calls back when it can be reached again. */
  onReturn?(listener: () => void): void;
  close?(): Promise<void>;
}

/** A request that waits for the table. */
interface Waiting {
  readonly account: string;
  decided(): void;
  give_up(fault: unknown): void;
}

class LeasedReservation implements Reservation {
  readonly #held: HeldReservation;
  readonly #onSettled: () => void;
  #isSettled = false;

  constructor(held: HeldReservation, onSettled: () => void) {
    this.#held = held;
    this.#onSettled = onSettled;
  }

  get over(): readonly Limit[] {
    return this.#held.over;
  }

  settle(used: Charge): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#held.settle(amountsOf(this.#held.limits, used, 0));
    this.#onSettled();
  }
}

/** Limits that several processes share. Each reserves from blocks of them without asking, and asks where these do not suffice. */
export class LeasedStateStore implements StateStore {
  readonly #source: LeaseSource;
  readonly #clock: Clock;
  readonly #holder: LeaseHolder;
  readonly #tick_ms: number;
  /** In the order in which they came. */
  readonly #waiting = new Map<HeldReservation, Waiting>();
  /** Resolve with whether there was an answer. */
  readonly #underWay = new Set<Promise<boolean>>();
  readonly #ticks = new RepeatingTask(async () => this.#tick());

  constructor(source: LeaseSource, clock: Clock) {
    const { patience_ms, poll_ms } = source.times;
    this.#source = source;
    this.#clock = clock;
    this.#holder = source.holder;
    this.#tick_ms = Math.min(patience_ms, poll_ms) / 2;
    source.onReturn?.(() => void this.#ticks.run());
    source.onAsked?.(account => this.askBack(account));
  }

  get outage(): StateOutage | undefined {
    return this.#source.outage;
  }

  get cache(): ClosableCache | undefined {
    return this.#source.cache;
  }

  async started(): Promise<void> {
    await this.#source.started?.();
  }

  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult> {
    const { account, limits, charge, force } = request;
    if (limits.length === 0) return unlimited;
    const now_ms = this.#now_ms;
    const amounts = amountsOf(limits, charge, 1);
    const fault = this.#source.fault(account);
    if (fault !== undefined) {
      const starting = this.#source.starting?.(account);
      if (starting) return starting.then(() => this.reserve(request));
      const held = this.#holder.take(account, limits, amounts, now_ms);
      return held ? this.#resultOf(account, held, now_ms) : this.#reserveAlone(request, fault);
    }
    this.#source.handOver?.(account);
    const held = this.#holder.reserve(account, limits, amounts, now_ms, force);
    const decision = held.state === 'waiting' ? this.#decision(account, held) : undefined;
    if (!decision) return this.#resultOf(account, held, now_ms);
    return decision.then(
      () => this.#resultOf(account, held, this.#now_ms),
      fault => this.#reserveAlone(request, fault),
    );
  }

  async statuses(account: string, limits: readonly Limit[]): Promise<LimitStatuses> {
    const starting = this.#source.starting?.(account);
    if (starting) await starting;
    try {
      const fault = this.#source.fault(account);
      if (fault !== undefined) return this.#source.statuses(account, limits, fault);
      const held = this.#holder.ask(account, limits, this.#now_ms);
      await this.#decision(account, held);
      held.settle([]);
      return this.#statusesOf(held, this.#now_ms);
    } catch (fault) {
      return this.#source.statuses(account, limits, fault);
    }
  }

  knownStatuses(account: string, limits: readonly Limit[]): LimitStatuses {
    return limits.flatMap(limit => this.#holder.status(account, limit, this.#now_ms) ?? []);
  }

  /** Another process waits for what this one does not use of an account. */
  askBack(account: string): void {
    this.#holder.askBack(account);
    this.#send(account);
  }

  /** Gives back what is not in use, and reports what was; tries a few times where there is no answer. */
  async settled(): Promise<void> {
    for (let tries = 3; tries > 0; ) {
      this.#source.handOver?.();
      for (const message of this.#holder.end(this.#now_ms)) this.#deliver(message);
      if (this.#underWay.size === 0) return;
      if ((await Promise.all(this.#underWay)).includes(false)) tries--;
    }
  }

  /** What runs ends with its lease. */
  async close(): Promise<void> {
    await this.#ticks.close();
    if (!this.outage) await this.settled();
    await this.#source.close?.();
  }

  get #now_ms(): number {
    return this.#clock.elapsed_ms();
  }

  /** Asks the table about a reservation that waits; undefined if it has answered already. */
  #decision(account: string, held: HeldReservation): Promise<void> | undefined {
    this.#send(account);
    if (held.state !== 'waiting') return undefined;
    this.#ticks.runIn(this.#source.times.retry_ms);
    return new Promise((decided, give_up) => this.#waiting.set(held, { account, decided, give_up }));
  }

  #resultOf(account: string, held: HeldReservation, now_ms: number): ReservationResult {
    const statuses = this.#statusesOf(held, now_ms);
    if (held.state === 'admitted') {
      const reservation = new LeasedReservation(held, () => this.#send(account));
      return { admitted: true, statuses, reservation };
    }
    const retry_ms = Math.max(1, Math.ceil(held.retry_ms));
    return { admitted: false, statuses, refused_by: held.refused_by!, retry_ms };
  }

  #reserveAlone(request: ReservationRequest, fault: unknown): ReservationResult {
    // What is decided now is to be reported.
    this.#ticks.runIn(this.#tick_ms);
    return this.#source.reserve(request, fault);
  }

  #statusesOf({ limits, rows }: HeldReservation, now_ms: number): LimitStatus[] {
    const statuses: LimitStatus[] = [];
    for (let at = 0; at < rows.length; at++) {
      const status = rows[at]!.status(limits[at]!, now_ms);
      if (status) statuses.push(status);
    }
    return statuses;
  }

  /** Sends what is due of an account. */
  #send(account: string): void {
    const message = this.#holder.due(account, this.#now_ms);
    if (message) this.#deliver(message);
  }

  #deliver(message: LeaseMessage): void {
    const { account } = message;
    this.#ticks.runIn(this.#tick_ms);
    const answer = this.#source.exchange(message);
    if (!answer) return this.#holder.unanswered(account);
    if (!(answer instanceof Promise)) return this.#receive(account, answer);
    const received = answer
      .then(
        answer => {
          this.#receive(account, answer);
          return true;
        },
        fault => {
          this.#failed(account, fault);
          return false;
        },
      )
      .finally(() => this.#underWay.delete(received));
    this.#underWay.add(received);
  }

  #receive(account: string, answer: LeaseAnswer): void {
    if (answer.counted?.verdicts.some(isHeld)) this.#source.ask?.(account);
    for (const held of this.#holder.receive(answer, this.#now_ms)) {
      this.#waiting.get(held)?.decided();
      this.#waiting.delete(held);
    }
    this.#send(account);
  }

  /** It may have been counted: what it asked for is taken back when it is answered later. */
  #failed(account: string, fault: unknown): void {
    this.#holder.unanswered(account);
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
      const fault = this.#source.fault(waiting.account);
      if (fault !== undefined) this.#giveUp(held, waiting, fault);
    }
    this.#source.handOver?.();
    for (const message of this.#holder.tick(now_ms)) this.#deliver(message);
    if (this.#waiting.size > 0) return this.#source.times.retry_ms;
    return this.#holder.size > 0 ? this.#tick_ms : undefined;
  }
}
