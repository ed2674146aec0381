import {
  counterKey,
  isCalendar,
  type Limit,
  periodKey,
  rowOf,
} from '../../../../../../src/gateway/limits/limit-table.ts';
import { Present } from '../../../../../../src/mount/state/counters/counters.ts';
import type { HeldReservation } from '../../../../../../src/mount/state/leases/held-account.ts';
import { LeaseHolder } from '../../../../../../src/mount/state/leases/lease-holder.ts';
import { LeaseTable } from '../../../../../../src/mount/state/leases/lease-table.ts';
import type { LeaseAnswer, LeaseMessage, LeaseTimes } from '../../../../../../src/records/lease-protocol.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

/** In which holders hear by polling what is asked back. The table may tell them as well. */
export const times: LeaseTimes = {
  lease_ms: 5000,
  report_ms: 40,
  poll_ms: 40,
  ahead_ms: 80,
  retry_ms: 10,
  repeat_ms: 10,
  patience_ms: 100,
  remembered_ms: 50_000,
};
/** In which it must. */
export const told_times: LeaseTimes = { ...times, report_ms: 500, poll_ms: 1500, ahead_ms: 2000 };
const account = 'a';
const minute_ms = 60_000;
/** The longest that something counts in a minute: a slot and a report longer. */
const longest_minute_ms = minute_ms + 1000 + 2 * told_times.report_ms;

/** A table of a world: one in this process, or in Redis. */
export interface TableUnderTest {
  exchange(holder: string, message: LeaseMessage): LeaseAnswer;
  takeAsked(): readonly (readonly [holder: string, account: string])[];
  /** Reads its clock. */
  look(): void;
  /** Its time. */
  now_ms(): number;
}

type NewTable = (clock: FakeClock, generation: string, times: LeaseTimes) => TableUnderTest;

export interface WorldOptions {
  /** Whether messages are sent as texts, which takes time. */
  readonly asJson?: boolean;
  readonly own_times?: LeaseTimes;
  readonly newTable?: NewTable;
}

const inMemory: NewTable = (clock, generation, times) => {
  const table = new LeaseTable(clock, generation, times);
  const look = () => void table.exchange('', { account: '', session: 0, seq: 0, rows: [], wants: [] });
  return {
    exchange: (holder, message) => table.exchange(holder, message),
    takeAsked: () => table.takeAsked(),
    look,
    now_ms: () => clock.elapsed_ms(),
  };
};

/** Limits of all periods that worlds may have. */
export const calendarLimits: readonly Limit[] = [
  { name: 'tokens_per_day', max: 1 },
  { name: 'usd_per_month', max: 1 },
  { name: 'usd_per_week', max: 1, time_zone: 'Asia/Kolkata', start_day: 6 },
  { name: 'usd_total', max: 1 },
];

/** The observer's time, and the beginnings of the periods of the table's calendar. */
interface Moment {
  readonly at_ms: number;
  readonly starts: Readonly<Record<string, number>>;
}

interface Request {
  readonly process: Process;
  readonly limits: readonly Limit[];
  readonly amounts: readonly number[];
  readonly isForced: boolean;
  readonly isAlone?: boolean;
}

/** A request that was admitted, as one sees it who knows everything. */
interface Admitted extends Request, Moment {
  readonly reservation: HeldReservation;
  settled_ms: number;
  used?: readonly number[];
}

/** A process with a holder, which may crash. Its clock differs from all others. */
interface Process {
  readonly id: string;
  readonly holder: LeaseHolder;
  readonly asked: Map<HeldReservation, Request>;
  clock_ms: number;
  isAlive: boolean;
  /** When the table counted its last message. */
  heard_ms: number;
  /** What ran at this time it has told the table anew, which had freed it: concurrency may be exceeded by it. */
  restated_ms: number;
}

/** What is under way. */
type Packet = { readonly process: Process } & (
  | { readonly messages: readonly LeaseMessage[] }
  | { readonly answers: readonly LeaseAnswer[] }
  | { readonly asked: string }
);

const isRunning = ({ isAlive, heard_ms, restated_ms }: Process, since_ms: number, now_ms: number) =>
  isAlive && now_ms - heard_ms < times.lease_ms && since_ms > restated_ms;

/** A table, processes, and a network in which everything may go wrong; and an observer of all that is admitted, who throws when it is too much. */
export class LeaseWorld {
  now_ms = 0;
  messages = 0;
  packets: Packet[] = [];
  readonly processes: Process[] = [];
  readonly admitted: Admitted[] = [];
  readonly refused: (Request & { readonly at_ms: number; readonly retry_ms: number })[] = [];
  /** Whether quota may stay counted that was not used: a process has crashed, was silent for longer than its lease, or a day has ended. */
  isDamaged = false;
  readonly #clock = new FakeClock();
  readonly #present = new Present();
  /** When the table decided something, by its own time. */
  readonly #decided = new Map<string, Moment>();
  /** When it lost its state. */
  readonly #losses: Moment[] = [];
  /** What was charged beyond reservations, by limit. */
  readonly #debts = new Map<string, number>();
  readonly #newTable: NewTable;
  #table: TableUnderTest;
  /** What arrives of what is sent. */
  readonly #times: LeaseTimes;
  readonly #carried: <T>(sent: T) => T;

  constructor(
    processes: number,
    { asJson = true, own_times = times, newTable = inMemory }: WorldOptions = {},
  ) {
    this.#times = own_times;
    this.#newTable = newTable;
    this.#carried = asJson ? sent => JSON.parse(JSON.stringify(sent)) : sent => sent;
    this.#table = newTable(this.#clock, '0', own_times);
    for (let at = 0; at < processes; at++) this.#start(at);
    this.#look();
  }

  advance(ms: number): true {
    this.now_ms += ms;
    this.#clock.advance(ms);
    // Their clocks run at different rates.
    for (const [at, process] of this.processes.entries()) process.clock_ms += ms * (1 + (at - 1) / 30);
    this.#look();
    return true;
  }

  /** Sets the table's time of day. What was used in the report before midnight counts in the new day. */
  setClock(by_ms: number): void {
    this.isDamaged = true;
    this.#clock.set(by_ms);
    this.advance(1);
  }

  reserve(at: number, limits: readonly Limit[], amounts: readonly number[], force?: true): true {
    const process = this.processes[at]!;
    const request = { process, limits, amounts, isForced: force === true };
    const reservation = process.holder.reserve(account, limits, amounts, process.clock_ms, force);
    if (reservation.state === 'waiting') process.asked.set(reservation, request);
    else this.#decide(request, reservation, this.#moment());
    return true;
  }

  /** Admits a request without asking. */
  count(at: number, limits: readonly Limit[], amounts: readonly number[]): void {
    const process = this.processes[at]!;
    const reservation = process.holder.count(account, limits, amounts, process.clock_ms);
    this.#decide({ process, limits, amounts, isForced: true, isAlone: true }, reservation, this.#moment());
  }

  settle(at: number, usedOf: (reserved: number) => number): void {
    const open = this.#open();
    const admitted = open[at % open.length];
    if (!admitted) return;
    const { reservation, amounts, limits } = admitted;
    const used = amounts.map((amount, at) => (rowOf(limits[at]!).unit === 'leases' ? 0 : usedOf(amount)));
    Object.assign(admitted, { used, settled_ms: this.now_ms });
    for (const [at, limit] of limits.entries()) {
      const debt = Math.max(0, used[at]! - amounts[at]!);
      this.#debts.set(counterKey(limit), (this.#debts.get(counterKey(limit)) ?? 0) + debt);
    }
    reservation.settle(used);
  }

  /** Settles the oldest that runs in a process; returns whether there is one. */
  settleOf(process: number, part: number): boolean {
    const at = this.#open().findIndex(one => one.process === this.processes[process]);
    if (at >= 0) this.settle(at, reserved => Math.floor(reserved * part));
    return at >= 0;
  }

  cancel(at: number): void {
    const { asked } = this.processes[at]!;
    const [waiting] = asked.keys();
    if (!waiting) return;
    waiting.cancel();
    asked.delete(waiting);
  }

  /** Returns whether there was something to send. */
  tick(at: number): boolean {
    const process = this.processes[at]!;
    const messages = process.holder.tick(process.clock_ms);
    if (messages.length > 0) this.packets.push({ process, messages: this.#carried(messages) });
    return messages.length > 0;
  }

  /** Delivers a packet; `again` leaves a copy under way. */
  deliver(at: number, again?: true): boolean {
    const packet = this.packets[at];
    if (!packet) return false;
    if (!again) this.packets.splice(at, 1);
    if ('asked' in packet) packet.process.holder.askBack(packet.asked);
    else if ('answers' in packet) this.#receive(packet.process, packet.answers);
    else this.#exchange(packet.process, packet.messages);
    return true;
  }

  drop(at: number): boolean {
    return this.packets.splice(at, 1).length > 0;
  }

  /** A process ends without a word, and another begins. */
  crash(at: number): true {
    this.isDamaged = true;
    const process = this.processes[at]!;
    process.isAlive = false;
    // What it has admitted without asking, and not reported, is forgotten with it.
    const isLost = ({ process: of, isAlone, reservation }: Admitted) =>
      isAlone && of === process && !reservation.batch.counted;
    this.admitted.splice(0, this.admitted.length, ...this.admitted.filter(one => !isLost(one)));
    this.#start(at);
    return true;
  }

  /** The table begins without its state. */
  forget(): void {
    this.isDamaged = true;
    this.#losses.push(this.#moment());
    this.#table = this.#newTable(this.#clock, `${this.#losses.length}`, this.#times);
    this.#look();
  }

  /** Everything arrives in order within `step_ms`, and everybody ticks. */
  run(ms: number, step_ms = 5): void {
    for (let passed = 0; passed < ms; passed += step_ms) {
      this.advance(step_ms);
      for (let at = 0; at < this.processes.length; at++) this.tick(at);
      for (let left = this.packets.length; left > 0; left--) this.deliver(0);
    }
  }

  /** Everything arrives, and everything that runs is settled. */
  rest(rounds = 20, step_ms = 5): void {
    for (let left = rounds; left > 0; left--) {
      this.run(this.#times.report_ms * 3, step_ms);
      while (this.#open().length > 0) this.settle(0, reserved => reserved);
    }
  }

  /** After all has come to rest: nothing that was used is forgotten, and nothing else counts, or is in a block, for longer than an expiry. */
  verify(limits: readonly Limit[], withExpiry = true): void {
    this.#verify(limits, false);
    if (!withExpiry) return;
    this.run(times.lease_ms + 2 * minute_ms, 1000);
    this.#verify(limits, true);
  }

  #verify(limits: readonly Limit[], isExpired: boolean): void {
    for (const [at, { used, free }] of this.counted(limits).entries()) {
      const limit = limits[at]!;
      const admitted = this.used(limit, this.#moment(), true);
      const most = admitted + (this.#debts.get(counterKey(limit)) ?? 0);
      const blocks = Math.max(0, limit.max - used) - free;
      const isTooLittle = used + blocks < admitted && this.#losses.length === 0;
      const isExact = !this.isDamaged || (isExpired && !isCalendar(limit));
      const isTooMuch = isExact && (blocks > 0 || (used > most && (isExpired || isCalendar(limit))));
      if (isTooLittle || isTooMuch)
        throw new Error(
          `${counterKey(limit)}: ${used} counted, ${blocks} in blocks, ${admitted} to ${most} used`,
        );
    }
  }

  /** Throws if a request was refused that fits, where what others have returned within the last `ms` is not counted as free. */
  verifyRefusals(ms: number): void {
    for (const { at_ms, limits, amounts, retry_ms } of this.refused) {
      const fits = (limit: Limit, at: number) => {
        const amount = Math.min(amounts[at]!, limit.max);
        return this.#usedWithin(limit, at_ms, ms) + amount <= limit.max;
      };
      if (limits.every(fits))
        throw new Error(`refused at ${at_ms} ms, ${retry_ms} ms to wait, although it fits`);
    }
  }

  /** What the table counts: of each limit, the use, and what is neither used nor in a block. */
  counted(limits: readonly Limit[]): { used: number; free: number }[] {
    const rows = limits.map(limit => ({ limit, used: 0, back: 0, block: 0, refunds: [] }));
    const message = { account, session: this.now_ms + 1, seq: 1, rows, wants: [] };
    const { as_of } = this.#table.exchange('observer', message);
    const { counted } = this.#table.exchange('observer', { ...message, as_of });
    if (!counted) throw new Error('the observer is not heard');
    return counted.rows.map(({ used, free }) => ({ used, free }));
  }

  /** What was admitted under a limit and counts at a moment, without debts. */
  used(limit: Limit, moment: Moment, withForced = false): number {
    const { window } = rowOf(limit);
    let sum = 0;
    for (const one of this.admitted) {
      const at = one.limits.findIndex(own => counterKey(own) === counterKey(limit));
      if (at < 0 || (one.isForced && !withForced)) continue;
      const age_ms = moment.at_ms - one.at_ms;
      const counts =
        window === 'minute'
          ? age_ms >= 0 && age_ms < minute_ms
          : window === 'running'
            ? !one.used && isRunning(one.process, one.at_ms, this.now_ms)
            : one.starts[periodKey(limit)] === moment.starts[periodKey(limit)];
      if (counts) sum += Math.min(one.amounts[at]!, one.used?.[at] ?? one.amounts[at]!);
    }
    return sum;
  }

  #start(at: number): void {
    const id = `${at} since ${this.now_ms} ms, ${this.admitted.length}, ${this.messages}`;
    const holder = new LeaseHolder(this.#times);
    const clock_ms = (at + 1) * 7 * 86_400_000;
    const heard_ms = this.now_ms;
    this.processes[at] = { id, holder, clock_ms, isAlive: true, heard_ms, restated_ms: -1, asked: new Map() };
  }

  #moment(): Moment {
    const present = this.#present.read(this.#clock);
    const starts = calendarLimits.map(limit => [periodKey(limit), present.periodOf(limit).start_ms]);
    return { at_ms: this.now_ms, starts: Object.fromEntries(starts) };
  }

  /** Lets the table see the same calendar. */
  #look(): void {
    this.#table.look();
    this.#moment();
  }

  #open(): Admitted[] {
    return this.admitted.filter(({ used, process }) => !used && process.isAlive);
  }

  #exchange(process: Process, messages: readonly LeaseMessage[]): void {
    this.messages++;
    if (this.now_ms - process.heard_ms >= times.lease_ms) this.isDamaged = true;
    const answers = this.#carried(messages.map(message => this.#table.exchange(process.id, message)));
    for (const answer of answers) {
      const { as_of, seq, counted } = answer;
      const key = `${as_of.generation} ${as_of.at_ms}`;
      if (!this.#decided.has(key)) this.#decided.set(key, this.#moment());
      if (!counted || as_of.at_ms !== this.#table.now_ms()) continue;
      process.heard_ms = this.now_ms;
      if (counted.is_expired || seq === 1) process.restated_ms = this.now_ms;
    }
    this.packets.push({ process, answers });
    for (const [holder, asked] of this.#table.takeAsked()) {
      const process = this.processes.find(({ id }) => id === holder);
      if (process) this.packets.push({ process, asked });
    }
  }

  #receive(process: Process, answers: readonly LeaseAnswer[]): void {
    if (!process.isAlive) return;
    for (const reservation of answers.flatMap(answer => process.holder.receive(answer, process.clock_ms))) {
      const request = process.asked.get(reservation)!;
      process.asked.delete(reservation);
      const { counted } = reservation.batch;
      const decided = this.#decided.get(`${counted?.generation} ${counted?.at_ms}`);
      this.#decide(request, reservation, reservation.state === 'admitted' ? decided! : this.#moment());
    }
  }

  #decide(request: Request, reservation: HeldReservation, moment: Moment): void {
    const { state, retry_ms } = reservation;
    if (state === 'refused') this.refused.push({ ...request, at_ms: this.now_ms, retry_ms });
    if (state !== 'admitted') return;
    this.admitted.push({ ...moment, ...request, reservation, settled_ms: Number.POSITIVE_INFINITY });
    if (!request.isForced) for (const limit of request.limits) this.#check(limit, moment);
  }

  /** No window that has the moment admits more than the limit, and one limit more for each loss of the table's state. */
  #check(limit: Limit, moment: Moment): void {
    const isIn = ({ at_ms }: Moment) => at_ms >= moment.at_ms && at_ms < moment.at_ms + minute_ms;
    for (const end of isCalendar(limit) ? [moment] : this.admitted.filter(isIn)) {
      const losses = this.#losses.filter(lost =>
        isCalendar(limit)
          ? lost.starts[periodKey(limit)] === end.starts[periodKey(limit)]
          : lost.at_ms > end.at_ms - minute_ms,
      );
      const used = this.used(limit, end);
      if (used > limit.max * (1 + losses.length))
        throw new Error(`${counterKey(limit)}: ${used} admitted of ${limit.max} at ${end.at_ms} ms`);
    }
  }

  /** The most that counted at a moment or less than `within_ms` before, with debts. */
  #usedWithin(limit: Limit, moment_ms: number, within_ms: number): number {
    let sum = 0;
    for (const { at_ms, settled_ms, limits, amounts, used } of this.admitted) {
      const at = limits.findIndex(own => counterKey(own) === counterKey(limit));
      const age_ms = moment_ms - at_ms;
      if (at < 0 || age_ms < 0) continue;
      if (rowOf(limit).window === 'minute' && age_ms > longest_minute_ms) continue;
      sum += settled_ms <= moment_ms - within_ms ? used![at]! : Math.max(amounts[at]!, used?.[at] ?? 0);
    }
    return sum;
  }
}
