import { counterKey, type Limit } from '../../../gateway/limits/limit-table.ts';
import {
  isAskedForReturns,
  type LeaseAnswer,
  type LeaseMessage,
  type LeaseTimes,
  mostOf,
  type TableTime,
  type Verdict,
} from '../../../records/lease-protocol.ts';
import { type Batch, HeldRow } from './held-row.ts';

/** How many requests one message asks for; others wait for its answer. */
const max_wants = 100;
/** An account may have many keys with limits. */
const kept_rows = 50;

/** Amounts of some limits of an account. If admitted, it is to be settled once; while it waits, it can be cancelled. */
export class HeldReservation {
  state: 'waiting' | 'admitted' | 'refused' | 'cancelled' = 'waiting';
  /** The limits that are exceeded, where it is forced. */
  over: readonly Limit[] = [];
  /** What refuses it, and for how long. */
  refused_by: Limit | undefined;
  retry_ms = 0;
  /** Whether a message has asked for it. */
  isAsked = false;
  batch: Batch;
  readonly limits: readonly Limit[];
  readonly rows: readonly HeldRow[];
  readonly amounts: readonly number[];
  readonly force: boolean;
  readonly since_ms: number;
  /** Those that are admitted and not settled. */
  readonly #open: Set<HeldReservation>;

  constructor(
    limits: readonly Limit[],
    rows: readonly HeldRow[],
    amounts: readonly number[],
    force: boolean,
    batch: Batch,
    open: Set<HeldReservation>,
    now_ms: number,
  ) {
    this.limits = limits;
    this.rows = rows;
    this.amounts = amounts;
    this.force = force;
    this.batch = batch;
    this.#open = open;
    this.since_ms = now_ms;
  }

  /** What it asks of a row; null if it does not count there. */
  amountOf(row: HeldRow): number | null {
    return this.amounts[this.rows.indexOf(row)] ?? null;
  }

  /** Its own limit that counts in a row. */
  limitOf(row: HeldRow): Limit {
    return this.limits[this.rows.indexOf(row)]!;
  }

  /** Ends it; `used` is by its limits, 0 where nothing is said. */
  settle(used: readonly number[]): void {
    this.#open.delete(this);
    for (let at = 0; at < this.rows.length; at++)
      this.rows[at]!.settle(this.amounts[at]!, used[at] ?? 0, this.batch);
  }

  admit(): void {
    this.state = 'admitted';
    this.#open.add(this);
  }

  /** Counts it again, with `batch`, since the table has lost its state. */
  restate(batch: Batch): void {
    const { counted } = this.batch;
    if (counted) for (const [at, row] of this.rows.entries()) row.restate(this.amounts[at]!);
    this.batch = batch;
  }

  /** Ends its wait: if it is admitted all the same, it is settled as unused. */
  cancel(): void {
    this.state = 'cancelled';
    if (!this.isAsked) for (const row of this.rows) row.waiting--;
  }

  refuse(row: HeldRow, retry_ms: number): this {
    if (this.state === 'waiting') this.state = 'refused';
    return Object.assign(this, { refused_by: this.limitOf(row), retry_ms });
  }
}

/** A message without an answer. */
interface Sent {
  readonly message: LeaseMessage;
  readonly rows: readonly HeldRow[];
  readonly batch: Batch;
  readonly asking: readonly HeldReservation[];
  readonly first_ms: number;
}

const newBatch = (): Batch => ({ isOpen: true, isVoid: false });
const never_ms = Number.NEGATIVE_INFINITY;

/** What a process holds of one account: blocks of its limits, and a session with the table, in which one message is under way at a time. */
export class HeldAccount {
  readonly #name: string;
  readonly #times: LeaseTimes;
  readonly #newSession: () => number;
  readonly #rows = new Map<string, HeldRow>();
  #bound = new WeakMap<readonly Limit[], readonly HeldRow[]>();
  #session: number;
  #seq = 0;
  #as_of: TableTime | undefined;
  #batch = newBatch();
  #sent: Sent | undefined;
  #sent_ms = never_ms;
  /** How often what is not used is returned, and the time after a message in which nothing else is due while no row is short. */
  readonly #return_ms: number;
  readonly #rest_ms: number;
  #isShort = false;
  /** The table has asked for what is not used. */
  #isAsked = false;
  #valid_until_ms = never_ms;
  readonly #open = new Set<HeldReservation>();
  /** In the order in which they came. */
  #waiting: HeldReservation[] = [];
  /** The last refusal, until it may be otherwise. */
  #refusal: { row: HeldRow; amount: number; most: number; ends_ms: number; until_ms: number } | undefined;

  constructor(name: string, times: LeaseTimes, newSession: () => number, as_of: TableTime | undefined) {
    this.#name = name;
    this.#times = times;
    this.#newSession = newSession;
    this.#session = newSession();
    this.#as_of = as_of;
    const { report_ms, poll_ms, patience_ms } = times;
    this.#return_ms = isAskedForReturns(times) ? report_ms : patience_ms / 2;
    this.#rest_ms = Math.min(report_ms, poll_ms, this.#return_ms);
  }

  /** Whether it can be forgotten. */
  isIdle(now_ms: number): boolean {
    if (this.#sent || this.#waiting.length > 0) return false;
    return [...this.#rows.values()].every(row => row.isIdle(now_ms));
  }

  row(limit: Limit): HeldRow | undefined {
    return this.#rows.get(counterKey(limit));
  }

  /** Reserves from blocks; undefined where these do not suffice. */
  take(limits: readonly Limit[], amounts: readonly number[], now_ms: number): HeldReservation | undefined {
    const rows = this.#rowsOf(limits);
    let isCovered = now_ms < this.#valid_until_ms;
    for (let at = 0; at < rows.length; at++) {
      rows[at]!.demand(amounts[at]!, now_ms);
      isCovered &&= rows[at]!.covers(limits[at]!, amounts[at]!, now_ms);
    }
    return isCovered ? this.#taken(rows, limits, amounts, now_ms) : undefined;
  }

  /** Counts what was admitted while the table could not be asked. */
  count(limits: readonly Limit[], amounts: readonly number[], now_ms: number): HeldReservation {
    return this.#taken(this.#rowsOf(limits), limits, amounts, now_ms);
  }

  /** Reserves under all limits or none, or waits for the table; `force` counts also what is above a limit. */
  reserve(
    limits: readonly Limit[],
    amounts: readonly number[],
    now_ms: number,
    force: boolean,
  ): HeldReservation {
    const taken = this.take(limits, amounts, now_ms);
    if (taken) return taken;
    const rows = this.#rowsOf(limits);
    const reservation = new HeldReservation(limits, rows, amounts, force, this.#batch, this.#open, now_ms);
    const { row, amount = 0, most = 0, ends_ms = 0, until_ms = never_ms } = this.#refusal ?? {};
    if (row && now_ms < until_ms && !force && (reservation.amountOf(row) ?? -1) >= amount)
      if (mostOf(reservation.limitOf(row)) <= most) return reservation.refuse(row, ends_ms - now_ms);
    return this.#wait(reservation);
  }

  /** Asks what counts under limits: a reservation of nothing, which is decided by an answer. */
  ask(limits: readonly Limit[], now_ms: number): HeldReservation {
    const nothing = limits.map(() => 0);
    const rows = this.#rowsOf(limits);
    return this.#wait(new HeldReservation(limits, rows, nothing, true, this.#batch, this.#open, now_ms));
  }

  /** Whether a message is due: a new one, or the last one again. */
  isDue(now_ms: number): boolean {
    const { retry_ms, repeat_ms, report_ms, poll_ms, lease_ms } = this.#times;
    const since_ms = now_ms - this.#sent_ms;
    if (this.#sent) return since_ms >= repeat_ms;
    for (const { isAsked } of this.#waiting) if (since_ms >= retry_ms || !isAsked) return true;
    if (this.#isAsked) return true;
    if (!this.#isShort && since_ms < this.#rest_ms) return false;
    for (const row of this.#rows.values()) {
      if (row.isUrgent || (row.isReturning && since_ms >= this.#return_ms)) return true;
      if ((row.hasNews && since_ms >= report_ms) || (row.block > 0 && since_ms >= poll_ms)) return true;
      if (row.isHeld && since_ms >= lease_ms / 3) return true;
    }
    return false;
  }

  message(now_ms: number): LeaseMessage {
    this.#sent_ms = now_ms;
    if (this.#sent) return this.#sent.message;
    if (!this.#as_of) return this.#hello(now_ms);
    this.#waiting = this.#waiting.filter(({ state, isAsked }) => isAsked || state === 'waiting');
    const asking = this.#waiting.slice(0, max_wants);
    const rows = [...this.#rows.values()].filter(row => !row.isIdle(now_ms));
    const wants = asking.map(one => ({ amounts: rows.map(row => one.amountOf(row)), force: one.force }));
    for (const one of asking) one.isAsked = true;
    this.#isAsked = false;
    const message = {
      account: this.#name,
      session: this.#session,
      seq: ++this.#seq,
      as_of: this.#as_of,
      rows: rows.map(row => row.report(now_ms)),
      wants,
    };
    this.#sent = { message, rows, batch: this.#batch, asking, first_ms: now_ms };
    this.#endBatch(false);
    return message;
  }

  /** Notes an answer, unless it is a late copy; returns the requests that it decides. */
  receive(answer: LeaseAnswer, now_ms: number): HeldReservation[] {
    const sent = this.#sent;
    if (sent?.message.session !== answer.session || sent.message.seq !== answer.seq) return [];
    this.#sent = undefined;
    this.#as_of = answer.as_of;
    if (!answer.counted) {
      if (sent.message.as_of) this.#restart(sent);
      this.#session = this.#newSession();
      this.#seq = 0;
      this.#sent_ms = never_ms;
      return [];
    }
    const { is_expired, rows, verdicts } = answer.counted;
    this.#refusal = undefined;
    if (is_expired) this.#endBatch(true);
    // A tenth for clocks that run at different rates.
    this.#valid_until_ms = sent.first_ms + 0.9 * this.#times.lease_ms;
    sent.batch.counted = answer.as_of;
    for (const [at, row] of sent.rows.entries()) row.answered(rows[at]!, is_expired, now_ms);
    this.#isShort = sent.rows.some(row => row.isShort);
    const decided = sent.asking.filter((one, at) => this.#decide(one, verdicts[at]!, sent, now_ms));
    this.#waiting = this.#waiting.filter(one => !decided.includes(one));
    this.#forgetIdleRows(now_ms);
    return decided.filter(({ state }) => state !== 'cancelled');
  }

  /** The last message was not answered, or not sent: it is due again. */
  unanswered(): void {
    this.#sent_ms = never_ms;
  }

  /** The message that gives all blocks back, and reports what is left to be, or the last one again; undefined if there is nothing due. */
  end(now_ms: number): LeaseMessage | undefined {
    if (this.#sent) return this.isDue(now_ms) ? this.message(now_ms) : undefined;
    let isWanted = false;
    for (const row of this.#rows.values()) isWanted = row.end() || isWanted;
    return isWanted ? this.message(now_ms) : undefined;
  }

  /** Gives all blocks back with the next message, which is due now even if there are none: it is waited for. */
  askBack(): void {
    this.#isAsked = true;
    for (const row of this.#rows.values()) row.askBack();
  }

  #taken(
    rows: readonly HeldRow[],
    limits: readonly Limit[],
    amounts: readonly number[],
    now_ms: number,
  ): HeldReservation {
    for (let at = 0; at < rows.length; at++) rows[at]!.take(amounts[at]!);
    const reservation = new HeldReservation(limits, rows, amounts, false, this.#batch, this.#open, now_ms);
    reservation.admit();
    return reservation;
  }

  /** An account has the same lists of limits in all its requests. */
  #rowsOf(limits: readonly Limit[]): readonly HeldRow[] {
    let rows = this.#bound.get(limits);
    if (!rows) this.#bound.set(limits, (rows = limits.map(limit => this.#rowOf(limit))));
    return rows;
  }

  #rowOf(limit: Limit): HeldRow {
    const key = counterKey(limit);
    let row = this.#rows.get(key);
    if (!row) this.#rows.set(key, (row = new HeldRow(limit, this.#times.ahead_ms)));
    return row;
  }

  /** Asks for the table's time. */
  #hello(now_ms: number): LeaseMessage {
    const message = { account: this.#name, session: this.#session, seq: ++this.#seq, rows: [], wants: [] };
    this.#sent = { message, rows: [], batch: newBatch(), asking: [], first_ms: now_ms };
    return message;
  }

  #wait(reservation: HeldReservation): HeldReservation {
    this.#waiting.push(reservation);
    for (const [at, row] of reservation.rows.entries()) {
      row.limit = reservation.limits[at]!;
      row.waiting++;
    }
    return reservation;
  }

  /** What was last heard of a limit is kept as long as it holds, of so many. */
  #forgetIdleRows(now_ms: number): void {
    for (const [key, row] of this.#rows) {
      if (!row.isIdle(now_ms) || (row.isKnown(now_ms) && this.#rows.size <= kept_rows)) continue;
      this.#rows.delete(key);
      this.#bound = new WeakMap();
    }
  }

  /** Returns false for a request that goes on waiting. */
  #decide(one: HeldReservation, verdict: Verdict, { rows, batch }: Sent, now_ms: number): boolean {
    const { over, refused_by, retry_ms, is_held } = verdict;
    const isPatient = one.state === 'waiting' && now_ms - one.since_ms < this.#times.patience_ms;
    if (is_held && isPatient) return false;
    for (const row of one.rows) row.waiting--;
    if (refused_by !== undefined) {
      const row = rows[refused_by]!;
      const until_ms = now_ms + Math.min(retry_ms, this.#times.retry_ms);
      const most = mostOf(one.limitOf(row));
      if (!is_held)
        this.#refusal = { row, amount: one.amountOf(row)!, most, ends_ms: now_ms + retry_ms, until_ms };
      one.refuse(row, retry_ms);
      return true;
    }
    one.batch = batch;
    one.over = over.map(at => one.limitOf(rows[at]!));
    for (const [at, row] of one.rows.entries()) row.begin(one.amounts[at]!);
    if (one.state === 'cancelled') one.settle([]);
    else one.admit();
    return true;
  }

  /** What the unanswered message asked for is asked for again. */
  #restart({ message, batch }: Sent): void {
    const isForgotten = message.as_of!.generation !== this.#as_of!.generation;
    batch.isVoid = true;
    this.#endBatch(true);
    for (const row of this.#rows.values()) row.restart(isForgotten);
    if (isForgotten) for (const one of this.#open) one.restate(this.#batch);
    this.#valid_until_ms = never_ms;
    this.#refusal = undefined;
  }

  #endBatch(isVoid: boolean): void {
    Object.assign(this.#batch, { isOpen: false, isVoid });
    this.#batch = newBatch();
  }
}
