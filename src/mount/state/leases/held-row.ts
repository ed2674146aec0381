import { type Limit, windowOf } from '../../../gateway/limits/limit-table.ts';
import type { LimitStatus } from '../../../gateway/limits/state-store.ts';
import {
  isShort,
  mostOf,
  type RowAnswer,
  type RowReport,
  type TableTime,
} from '../../../records/lease-protocol.ts';

/** What was reserved between two messages. They report it together, so that the table counts it at one moment. */
export interface Batch {
  /** Not reported yet: what settles meanwhile is reported as it was settled. */
  isOpen: boolean;
  /** Ended with the session: when the table counts it, if at all, is unknown, so that nothing can be returned. */
  isVoid: boolean;
  /** When the table has counted it. */
  counted?: TableTime;
}

/** Fewer requests than these in `ahead_ms` are served without a block, which would come back unused. */
const fewest_ahead = 2;
/** How much more concurrency a process holds than runs: what ends serves the next requests, however many come. */
const spare_running = 8;
/** It is forgotten when nothing was asked for within so many `ahead_ms`. */
const remembered_aheads = 1.5;

/** How much of a limit may be admitted without asking, and for how long that remains the same. */
export interface Part {
  readonly max: number;
  readonly reset_ms: number;
}

/** What a process holds of one limit. */
export class HeldRow {
  limit: Limit;
  readonly isRunning: boolean;
  /** Granted, unused: may be reserved without asking. */
  block = 0;
  /** Of concurrency, what runs. */
  running = 0;
  /** How many requests wait for this row. */
  waiting = 0;
  /** How many reservations are not settled. */
  open = 0;
  /** The last answer, and when it came. */
  #known: RowAnswer = { granted: 0, used: 0, reset_ms: 0, free: 0, is_asked_back: false };
  #known_ms: number | undefined;
  /** Used since the last message, and what that one reported while it is unanswered. */
  #used = 0;
  #sent_used = 0;
  /** What of `#used` was not in the block. */
  #beyond = 0;
  /** The same with what is to be returned: what the last answer lacks. */
  #own = 0;
  #sent_own = 0;
  /** What was in the block and may not be used, to be given back. */
  #expired = 0;
  /** The table does not know yet what runs: what ends is free for others, and not for the block. */
  #isUnknown = false;
  readonly #refunds = new Map<Batch, number>();
  readonly #ahead_ms: number;
  /** Of a sliding window; 0 of others. */
  readonly #window_ms: number;
  /** Amounts that were asked for in about the last `#ahead_ms`, at `#demand_ms`; and the last one. */
  #demand = 0;
  #demand_ms = 0;
  #amount = 0;

  constructor(limit: Limit, ahead_ms: number) {
    this.limit = limit;
    const window = windowOf(limit);
    this.isRunning = window.kind === 'running';
    this.#window_ms = window.kind === 'sliding' ? window.duration_ms : 0;
    this.#ahead_ms = ahead_ms;
  }

  /** Whether there is something to report. */
  get hasNews(): boolean {
    return this.#used !== 0 || this.isReturning;
  }

  /** Whether it keeps what the table counts as used, and is not. */
  get isReturning(): boolean {
    return this.#used < 0 || this.#expired > 0 || this.#counted.length > 0;
  }

  /** Whether something is to be returned without delay. */
  get isUrgent(): boolean {
    return this.isShort && (this.isReturning || (this.#known.is_asked_back && this.block > 0));
  }

  /** Whether there was little left of it at the last answer, or another holder waited. */
  get isShort(): boolean {
    return isShort(this.#known, this.limit);
  }

  /** Whether the table ends something if it does not hear of this process. */
  get isHeld(): boolean {
    return this.block + this.running + this.open > 0;
  }

  /** Whether it can be forgotten, with the demand of late. */
  isIdle(now_ms: number): boolean {
    const isNeeded = this.isHeld || this.hasNews || this.waiting + this.#refunds.size > 0;
    return !isNeeded && now_ms - this.#demand_ms >= remembered_aheads * this.#ahead_ms;
  }

  /** Whether something counts of what the last answer says. */
  isKnown(now_ms: number): boolean {
    return this.#known_ms !== undefined && this.#knownEnd(now_ms) > 0;
  }

  /** Whether a request may reserve from the block. One of nothing is refused like others where the limit is exceeded. */
  covers(limit: Limit, amount: number, now_ms: number): boolean {
    const most = mostOf(limit);
    if (this.waiting > 0 || most !== mostOf(this.limit)) return false;
    return amount > 0 ? amount <= this.block : this.#usedAt(now_ms) <= most;
  }

  /** What is left of `limit` for all holders, by the last answer and what this one has used since; undefined without an answer. */
  status(limit: Limit, now_ms: number): LimitStatus | undefined {
    if (this.#known_ms === undefined) return undefined;
    // Others' concurrency may be another by now.
    const isOld = now_ms - this.#known_ms >= remembered_aheads * this.#ahead_ms;
    if (this.isRunning && isOld && this.isIdle(now_ms)) return undefined;
    const ends_ms = this.#knownEnd(now_ms);
    const used = this.#usedUntil(ends_ms);
    const remaining = Math.min(limit.max, Math.max(0, limit.max - used));
    const over = used > limit.max ? used - limit.max : undefined;
    const reset_ms = used > 0 ? Math.ceil(this.#resetIn(ends_ms, now_ms)) : 0;
    return { limit, remaining, over, reset_ms };
  }

  /** What one of `holders` may admit without asking: its part of what was free at the last answer. Of concurrency what runs is known better. */
  partOf(max: number, holders: number, now_ms: number): Part | undefined {
    if (this.isRunning) return { max: Math.max(1, Math.floor(max / holders)) - this.running, reset_ms: 1000 };
    if (!this.isKnown(now_ms)) return undefined;
    const free = Math.min(this.#known.free + max - this.limit.max, max - this.#usedAt(now_ms));
    return { max: Math.floor(Math.max(0, free) / holders), reset_ms: Math.ceil(this.#knownEnd(now_ms)) };
  }

  /** Another holder waits for the block. */
  askBack(): void {
    this.#known = { ...this.#known, is_asked_back: true };
  }

  /** Wants no block any more. Returns whether there is something to report or to give back. */
  end(): boolean {
    this.#demand = 0;
    return this.hasNews || this.block > 0;
  }

  /** Notes that `amount` is asked for, whether or not the block has it. */
  demand(amount: number, now_ms: number): void {
    this.#demand = this.#demandAt(now_ms) + amount;
    this.#demand_ms = now_ms;
    this.#amount = amount;
  }

  /** Reserves from the block, as far as that reaches. */
  take(amount: number): void {
    this.#use(amount);
    this.#own += amount;
    this.begin(amount);
  }

  /** Notes a reservation that is counted. */
  begin(amount: number): void {
    this.open++;
    if (this.isRunning) this.running += amount;
  }

  /** Ends a reservation of `batch`. What it has not used goes back to the block, or to the moment at which it counts. */
  settle(reserved: number, used: number, batch: Batch): void {
    this.open--;
    if (this.isRunning) return this.#end(reserved);
    const more = used - reserved;
    if (more > 0 || !batch.isVoid) this.#own += more;
    if (more > 0) this.#use(more);
    else if (batch.isOpen) {
      this.#used += more;
      this.block += this.#unused(-more);
    } else if (more < 0 && !batch.isVoid) this.#refunds.set(batch, (this.#refunds.get(batch) ?? 0) - more);
  }

  /** What the next message says. Gives back what is asked back, what is too much, and all where a request waits, which asks for its whole amount. */
  report(now_ms: number): RowReport {
    const demand = this.#demandAt(now_ms);
    const ahead = this.isRunning ? Math.min(demand, this.running + spare_running) : demand;
    const block = ahead < fewest_ahead * this.#amount ? 0 : Math.floor(ahead);
    const kept = this.waiting > 0 || this.#known.is_asked_back ? 0 : Math.min(this.block, 2 * block);
    const back = this.block - kept + this.#expired;
    const batches = this.#counted;
    const refunds = batches.map(batch => [batch.counted!.at_ms, this.#refunds.get(batch)!] as const);
    for (const batch of batches) this.#refunds.delete(batch);
    const used = this.#used;
    this.block = kept;
    this.#sent_used = used;
    this.#sent_own = this.#own;
    this.#used = this.#beyond = this.#own = this.#expired = 0;
    this.#isUnknown = false;
    return { limit: this.limit, used, back, block, refunds };
  }

  /** Notes the answer to the last message. */
  answered(answer: RowAnswer, is_expired: boolean, now_ms: number): void {
    if (is_expired) this.#expire();
    this.#sent_used = this.#sent_own = 0;
    this.block += answer.granted;
    this.#known = answer;
    this.#known_ms = now_ms;
  }

  /** Begins a session of which the table knows nothing; `isForgotten` if it has not counted those before either. */
  restart(isForgotten: boolean): void {
    this.block = this.#expired = 0;
    // What of it has been counted, or is part of the block that counts as used now, counts twice.
    const uncounted = Math.max(0, this.#used) + this.#sent_used;
    this.#used = this.#own = this.isRunning ? this.running : uncounted;
    this.#beyond = this.isRunning ? 0 : uncounted;
    this.#sent_used = this.#sent_own = 0;
    this.#isUnknown = true;
    for (const batch of this.#refunds.keys()) if (isForgotten || !batch.counted) this.#refunds.delete(batch);
    this.#known = { ...this.#known, is_asked_back: false };
  }

  /** Counts again what the table has lost. What runs is counted already. */
  restate(amount: number): void {
    if (this.isRunning) return;
    this.#use(amount);
    this.#own += amount;
  }

  /** The table has freed what ran, and counts the block as used. */
  #expire(): void {
    this.#isUnknown = true;
    if (this.isRunning) this.#own = this.#used = this.running - Math.max(0, this.#sent_used);
    else this.#expired = this.block;
    this.block = 0;
  }

  #use(amount: number): void {
    this.#used += amount;
    this.#beyond += Math.max(0, amount - this.block);
    this.block = Math.max(0, this.block - amount);
  }

  /** What of an amount that was not used after all was in the block. */
  #unused(amount: number): number {
    const beyond = Math.min(amount, this.#beyond);
    this.#beyond -= beyond;
    return amount - beyond;
  }

  /** Its place is free for the next request, unless more runs than may: what was forced, or admitted before the limit was lowered. */
  #end(reserved: number): void {
    this.running -= reserved;
    this.#used -= reserved;
    this.#own -= reserved;
    const free = this.#unused(reserved);
    if (this.#isUnknown) return;
    if (this.#known.used > mostOf(this.limit)) this.#expired += free;
    else this.block += free;
  }

  #demandAt(now_ms: number): number {
    return this.#demand * Math.exp(Math.min(0, this.#demand_ms - now_ms) / this.#ahead_ms);
  }

  /** What counts, as far as it is known here. */
  #usedAt(now_ms: number): number {
    return this.#known_ms === undefined ? Number.POSITIVE_INFINITY : this.#usedUntil(this.#knownEnd(now_ms));
  }

  /** What counts while what the last answer says does so for `ends_ms` more. */
  #usedUntil(ends_ms: number): number {
    const counts = this.isRunning || ends_ms > 0;
    return (counts ? this.#known.used : 0) + this.#sent_own + this.#own;
  }

  #resetIn(ends_ms: number, now_ms: number): number {
    const isOwn = this.#window_ms > 0 && this.#sent_own + this.#own > 0;
    return Math.max(0, ends_ms, isOwn ? this.#demand_ms + this.#window_ms - now_ms : 0);
  }

  /** Milliseconds until nothing counts of what the last answer says. */
  #knownEnd(now_ms: number): number {
    return this.#known.reset_ms + this.#known_ms! - now_ms;
  }

  get #counted(): Batch[] {
    return this.#refunds.size === 0 ? [] : [...this.#refunds.keys()].filter(({ counted }) => counted);
  }
}
