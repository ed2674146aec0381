import { counterKey, isCalendar, type Limit, windowOf } from '../../../gateway/limits/limit-table.ts';
import {
  isAskedForReturns,
  isShort,
  type LeaseAnswer,
  type LeaseMessage,
  type LeaseTimes,
  mostOf,
  type RowAnswer,
  type RowReport,
  type TableTime,
  type Verdict,
  type Want,
} from '../../../records/lease-protocol.ts';
import { type CounterOwner, isOwn } from '../counters/counter-groups.ts';
import { type Counter, counterOf, type Moment, type Now, type PastUse } from '../counters/counters.ts';

/** One limit. `used` and the blocks together are at most its `max`. */
interface Row {
  limit: Limit;
  readonly isRunning: boolean;
  readonly counter: Counter;
  /** The sum of the blocks of all holders. */
  blocks: number;
  /** While a request waits for blocks of others, and a little longer: no blocks are granted. */
  scarce_until_ms: number;
}

/** What one holder has of a row. */
interface Share {
  /** The block: granted and, as far as is known, unused. */
  block: number;
  /** For concurrency: how many of its requests run. */
  running: number;
  /** The block that has expired, which counts as used since `charged_ms` until the holder says what it used of it. */
  charged: number;
  charged_ms: number;
  /** When what it does not use will have been returned: infinite until it is asked, or told that there is little left. */
  returned_ms: number;
}

/** What the table knows of a holder. */
interface Session {
  readonly number: number;
  readonly shares: Map<Row, Share>;
  seq: number;
  answer: LeaseAnswer | undefined;
  heard_ms: number;
  isExpired: boolean;
}

/** The limits of one account, its keys and all accounts below it, in a table. */
export class AccountTable {
  readonly #times: LeaseTimes;
  readonly #rows = new Map<string, Row>();
  readonly #sessions = new Map<string, Session>();
  #swept_ms = 0;

  constructor(times: LeaseTimes) {
    this.#times = times;
  }

  /** Counts a message once, and answers it as often as it comes; undefined if whether it was counted is unknown. */
  exchange(holder: string, message: LeaseMessage, now: Now, as_of: TableTime): LeaseAnswer | undefined {
    this.#expire(now);
    const session = this.#sessionOf(holder, message, now);
    if (!session || message.seq > session.seq + 1) return undefined;
    if (message.seq <= session.seq) return session.answer;
    const { account, session: number, seq, rows: reports, wants } = message;
    const rows = reports.map(({ limit }) => this.#row(limit, now));
    for (const [at, row] of rows.entries()) take(row, shareOf(session, row), reports[at]!, now);
    const verdicts = wants.map(want => this.#decide(want, rows, session, now));
    const { isExpired: is_expired } = session;
    Object.assign(session, { isExpired: false, heard_ms: now.elapsed_ms, seq });
    const answers = rows.map((row, at) =>
      this.#answerOf(row, shareOf(session, row), is_expired ? 0 : reports[at]!.block, now),
    );
    session.answer = {
      account,
      session: number,
      seq,
      as_of,
      counted: { is_expired, rows: answers, verdicts },
    };
    return session.answer;
  }

  /** The holders that have unused blocks, or are waited for to return something, but one. */
  holdersBut(holder: string): string[] {
    const isAsked = ({ block, returned_ms }: Share) =>
      block > 0 || (returned_ms > 0 && Number.isFinite(returned_ms));
    const has = ({ shares }: Session) => [...shares.values()].some(isAsked);
    return [...this.#sessions].flatMap(([name, session]) => (name !== holder && has(session) ? [name] : []));
  }

  /** Those of the limits on the calendar that have no row yet. */
  lacking(limits: readonly Limit[]): readonly Limit[] {
    return limits.filter(limit => isCalendar(limit) && !this.#rows.has(counterKey(limit)));
  }

  /** The limits of `owner` that have rows. */
  counted(owner: CounterOwner): readonly Limit[] {
    return [...this.#rows.values()].map(({ limit }) => limit).filter(limit => isOwn(limit, owner));
  }

  /** Raises what counts in the present periods of `owner` to at least `past`: of `limits`, whose rows are made, or of all rows. */
  raise(owner: CounterOwner, past: PastUse, now: Now, limits?: readonly Limit[]): void {
    const rows = limits?.map(limit => this.#row(limit, now)) ?? [...this.#rows.values()];
    for (const { limit, counter } of rows) if (isOwn(limit, owner)) counter.raise(past, now);
  }

  /** Ends a holder: its concurrency is free, and its blocks count as used, since what it used of them is unknown. */
  end(holder: string, now: Now): void {
    const session = this.#sessions.get(holder);
    if (session) this.#end(session, now.elapsed_ms, now);
  }

  /** Drops rows without use, and holders that are forgotten, once in `lease_ms`; returns true if none remain. */
  forgetIdle(now: Now): boolean {
    if (now.elapsed_ms - this.#swept_ms < this.#times.lease_ms) return false;
    this.#swept_ms = now.elapsed_ms;
    this.#expire(now);
    for (const [holder, { heard_ms }] of this.#sessions)
      if (now.elapsed_ms - heard_ms >= this.#times.remembered_ms) this.#sessions.delete(holder);
    for (const [key, row] of this.#rows) {
      if (row.blocks > 0 || row.counter.used(now) > 0) continue;
      this.#rows.delete(key);
      for (const { shares } of this.#sessions.values()) shares.delete(row);
    }
    return this.#sessions.size + this.#rows.size === 0;
  }

  /** The session that a message belongs to; begins it with its first message. */
  #sessionOf(holder: string, { session: number, seq }: LeaseMessage, now: Now): Session | undefined {
    const known = this.#sessions.get(holder);
    if (known?.number === number) return known;
    if (seq !== 1 || (known && number < known.number)) return undefined;
    if (known) this.#end(known, now.elapsed_ms, now);
    const { elapsed_ms: heard_ms } = now;
    const session = { number, seq: 0, answer: undefined, heard_ms, isExpired: false, shares: new Map() };
    this.#sessions.set(holder, session);
    return session;
  }

  #row(limit: Limit, now: Now): Row {
    const key = counterKey(limit);
    let row = this.#rows.get(key);
    if (!row) {
      const isRunning = windowOf(limit).kind === 'running';
      row = { limit, isRunning, counter: counterOf(limit, now), blocks: 0, scarce_until_ms: 0 };
      this.#rows.set(key, row);
    }
    row.limit = limit;
    return row;
  }

  #expire(now: Now): void {
    for (const session of this.#sessions.values()) {
      const ends_ms = session.heard_ms + this.#times.lease_ms;
      if (!session.isExpired && ends_ms <= now.elapsed_ms) this.#end(session, ends_ms, now);
    }
  }

  /** `ended_ms` is when the holder can last have used its blocks. */
  #end(session: Session, ended_ms: number, now: Now): void {
    session.isExpired = true;
    for (const [row, share] of session.shares) {
      row.blocks -= share.block;
      if (row.isRunning) giveBack(row, share.running, now, now);
      else if (share.block > 0 && counts(row, ended_ms, now)) {
        add(row, share.block, now);
        share.charged += share.block;
        share.charged_ms = now.elapsed_ms;
      }
      share.block = share.running = 0;
    }
  }

  /** Reserves all amounts or none. */
  #decide({ amounts, force }: Want, rows: readonly Row[], session: Session, now: Now): Verdict {
    const over: number[] = [];
    let [refused_by, retry_ms, isFull] = [-1, 0, false];
    for (const [at, row] of rows.entries()) {
      const { limit, counter, blocks } = row;
      const asked = amounts[at] ?? null;
      if (asked === null || limit.soft) continue;
      // What is above a whole limit is admitted while the limit is unused. A ceiling never is.
      const amount = Math.min(asked, limit.max);
      if (counter.used(now) + blocks + amount <= limit.max) continue;
      over.push(at);
      const excess = counter.used(now) + amount - limit.max;
      const wait_ms = excess > 0 ? counter.wait_ms(excess, now) : 0;
      if (wait_ms > 0 && !force) isFull ||= !this.#isReturning(row, session, now);
      if (wait_ms > retry_ms) [refused_by, retry_ms] = [at, wait_ms];
    }
    if (over.length > 0 && !force) {
      if (isFull) return { over, refused_by, retry_ms, is_held: false };
      const { patience_ms } = this.#times;
      for (const at of over) rows[at]!.scarce_until_ms = now.elapsed_ms + patience_ms;
      return { over, refused_by: over[0], retry_ms: patience_ms, is_held: true };
    }
    for (const [at, row] of rows.entries()) {
      const amount = amounts[at] ?? 0;
      add(row, amount, now);
      if (row.isRunning) shareOf(session, row).running += amount;
    }
    return { over, retry_ms: 0, is_held: false };
  }

  /** Also fills the holder's block: of what is free, no more than its part of one half, rounded down, so that blocks end where limits do. */
  #answerOf(row: Row, share: Share, block: number, now: Now): RowAnswer {
    const used = row.counter.used(now);
    const is_scarce = now.elapsed_ms < row.scarce_until_ms;
    const free = Math.max(0, mostOf(row.limit) - used - row.blocks);
    const holders = [...this.#sessions.values()].filter(({ isExpired }) => !isExpired).length;
    const most = is_scarce ? 0 : Math.floor(free / 2 / holders);
    const granted = Math.max(0, Math.min(block - share.block, most));
    share.block += granted;
    row.blocks += granted;
    const reset_ms = Math.ceil(resetOf(row, now));
    const answer = { granted, used, reset_ms, free: free - granted, is_asked_back: is_scarce };
    share.returned_ms = isShort(answer, row.limit) ? 0 : Number.POSITIVE_INFINITY;
    return answer;
  }

  /** Whether other holders may return some of a row that is full; from now on they are waited for. */
  #isReturning(row: Row, session: Session, now: Now): boolean {
    if (!isAskedForReturns(this.#times)) return false;
    let isReturning = false;
    for (const other of this.#sessions.values()) {
      const share = other === session || other.isExpired ? undefined : other.shares.get(row);
      if (!share || share.returned_ms <= now.elapsed_ms) continue;
      share.returned_ms = Math.min(share.returned_ms, now.elapsed_ms + this.#times.patience_ms);
      isReturning = true;
    }
    return isReturning;
  }
}

function shareOf({ shares }: Session, row: Row): Share {
  let share = shares.get(row);
  if (!share) shares.set(row, (share = { block: 0, running: 0, charged: 0, charged_ms: 0, returned_ms: 0 }));
  return share;
}

function add({ counter }: Row, amount: number, now: Now): void {
  if (amount <= 0) return;
  counter.used(now);
  counter.add(amount, now);
}

function giveBack({ counter }: Row, amount: number, added: Moment, now: Now): void {
  counter.used(now);
  counter.giveBack(amount, added);
}

const resetOf = ({ counter }: Row, now: Now): number =>
  counter.period ? counter.period.end_ms - now.epoch_ms : counter.reset_ms(now);

/** Counts what a holder reports of a row. */
function take(row: Row, share: Share, { used, back, refunds }: RowReport, now: Now): void {
  let fromBlock = back;
  if (row.isRunning) {
    const begun = Math.max(used, -share.running);
    share.running += begun;
    if (begun > 0) add(row, begun, now);
    else giveBack(row, -begun, now, now);
    fromBlock += begun;
  } else {
    const charged = Math.min(used, share.charged);
    share.charged -= charged;
    add(row, used - charged, now);
    const refunded = Math.min(back, share.charged);
    share.charged -= refunded;
    giveBack(row, refunded, { elapsed_ms: share.charged_ms }, now);
    fromBlock += used - charged - refunded;
  }
  fromBlock = Math.min(fromBlock, share.block);
  share.block -= fromBlock;
  row.blocks -= fromBlock;
  for (const [elapsed_ms, amount] of refunds) giveBack(row, amount, { elapsed_ms }, now);
}

/** Whether what was used at a moment counts now. */
function counts({ limit, counter }: Row, at_ms: number, now: Now): boolean {
  if (counter.period) return at_ms >= counter.period.began_ms;
  const window = windowOf(limit);
  return window.kind !== 'sliding' || now.elapsed_ms - at_ms < window.duration_ms;
}
