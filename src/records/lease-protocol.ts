import type { Limit } from '../gateway/limits/limit-table.ts';

/** Durations, the same for a table and its holders. Each process measures them on its own clock. */
export interface LeaseTimes {
  /** How long a silent holder keeps its blocks and its concurrency. */
  readonly lease_ms: number;
  /**
   * Interval at which a holder reports use, by which it may count longer than its window, and what it has not used. A table for which that is
   * longer than `patience_ms` asks for it when a request waits.
   */
  readonly report_ms: number;
  /** Interval at which a holder with unused blocks asks whether they are asked back. Long where the table can tell it by itself. */
  readonly poll_ms: number;
  /** Blocks last for about so long. What a process that dies has left of them counts as used. */
  readonly ahead_ms: number;
  /** Interval at which a request that waits for other holders' blocks asks again. */
  readonly retry_ms: number;
  /** Interval at which a message without an answer is repeated. */
  readonly repeat_ms: number;
  /** The longest that a request waits for other holders' blocks before it is refused. */
  readonly patience_ms: number;
  /** For how long a silent holder's last message is remembered. What it returns within that time is exact, although its blocks have expired. */
  readonly remembered_ms: number;
}

/** Between processes of a machine: blocks come back within 100 ms, if messages take up to 5 ms. */
export const process_times: LeaseTimes = {
  lease_ms: 10_000,
  report_ms: 1000,
  poll_ms: 3000,
  ahead_ms: 10_000,
  retry_ms: 10,
  // Channels lose no message: it waits for the primary, or for the ledger behind it.
  repeat_ms: 1000,
  patience_ms: 100,
  remembered_ms: 100_000,
};

/** Between machines, of which the table tells none anything by itself: within a second, if messages take up to 60 ms. */
export const machine_times: LeaseTimes = {
  lease_ms: 15_000,
  report_ms: 400,
  poll_ms: 400,
  ahead_ms: 2000,
  retry_ms: 100,
  repeat_ms: 100,
  patience_ms: 1000,
  remembered_ms: 3_600_000,
};

/** The same, where holders tell each other what they wait for: they report less often. */
export const told_machine_times: LeaseTimes = { ...machine_times, report_ms: 1100, poll_ms: 5000 };

/** A moment on a table's own clock. A table that has begun without the state of the one before has another generation. */
export interface TableTime {
  /** Another one for each beginning. */
  readonly generation: string;
  /** On its clock. */
  readonly at_ms: number;
}

/** What a message says of one limit. */
export interface RowReport {
  /** Which one, with its present maximum. */
  readonly limit: Limit;
  /** Use since the last message, of the block as far as that reaches, and then beyond it. For concurrency what began less what ended. */
  readonly used: number;
  /** Given back from the block. */
  readonly back: number;
  /** The block that the holder wants to have after this message. */
  readonly block: number;
  /** What settlements return of use that the table has counted at these moments. */
  readonly refunds: readonly (readonly [at_ms: number, amount: number])[];
  /** Of a limit that never resets, what was used before the table knew of it: see `lacks_past`. */
  readonly past?: number;
}

/** A request that blocks do not suffice for: counted under all of its limits or under none. */
export interface Want {
  /** By the places of `rows`; null where it does not count. An amount of 0 is over a limit that is exceeded already. */
  readonly amounts: readonly (number | null)[];
  /** Count it also above a limit. */
  readonly force: boolean;
}

/** An atomic step of one account. Until it is answered the holder sends no other for the account, and repeats this one unchanged. */
export interface LeaseMessage {
  /** Whose limits. */
  readonly account: string;
  /** Grows with every session of the holder. */
  readonly session: number;
  /** 1, 2, 3 … within the session: what has been counted is answered again, and not counted again. */
  readonly seq: number;
  /** The table's time in the newest answer that the holder knew; absent at first, so that the answer is the time alone. */
  readonly as_of?: TableTime | undefined;
  /** The limits that the message is about. */
  readonly rows: readonly RowReport[];
  /** Requests that wait, in their order. */
  readonly wants: readonly Want[];
}

/** What a table answers to a `Want`. */
export interface Verdict {
  /** Places of the limits that are exceeded. */
  readonly over: readonly number[];
  /** The one that keeps a refused request waiting longest; absent if it is admitted. */
  readonly refused_by?: number | undefined;
  /** Until it fits, if nothing else is admitted; 0 if it is admitted. */
  readonly retry_ms: number;
  /** Only unused blocks of other holders are in the way, which are asked back. */
  readonly is_held: boolean;
}

/** What an answer says of one limit. */
export interface RowAnswer {
  /** Added to the holder's block. */
  readonly granted: number;
  /** What counts now, of all holders, without their blocks. */
  readonly used: number;
  /** Until all of it counts no longer, or the day or month ends; 0 for concurrency. */
  readonly reset_ms: number;
  /** What neither counts as used nor is in a block. */
  readonly free: number;
  /** Another holder waits: what is unused is to be given back at once. */
  readonly is_asked_back: boolean;
}

/** What a table admits of a limit: of a soft one more than ever counts. */
export const mostOf = ({ max, soft }: Limit): number => (soft ? Number.MAX_SAFE_INTEGER : max);

/** Whether a holder that was told so returns what it does not use at once, and not with its next report. */
export const isShort = ({ is_asked_back, free }: RowAnswer, limit: Limit): boolean =>
  is_asked_back || free < mostOf(limit) / 8;

/** Whether a holder is asked for what it does not use, since its reports would be too late for a request that waits. */
export const isAskedForReturns = ({ report_ms, patience_ms }: LeaseTimes): boolean => report_ms > patience_ms;

/** The answer to a message of this session and number. */
export interface LeaseAnswer {
  /** As in the message. */
  readonly account: string;
  /** As in the message. */
  readonly session: number;
  /** As in the message. */
  readonly seq: number;
  /** When the table counted the message. */
  readonly as_of: TableTime;
  /**
   * Nothing was counted, since the table knows nothing of a limit that never resets, or no longer: the message is to be sent again with the
   * `past` of such rows. A table may do without.
   */
  readonly lacks_past?: true;
  /** Absent if the table cannot tell whether it has counted the message before: the holder begins another session. */
  readonly counted?: {
    /** The holder's blocks had expired: what is left of them is not to be used, but given back. */
    readonly is_expired: boolean;
    readonly rows: readonly RowAnswer[];
    readonly verdicts: readonly Verdict[];
  };
}

/** What holders share: a table in another process, or a script in Redis. */
export interface SharedTable {
  /**
   * Counts a message and answers it, in one step that is done whole or not at all; a repeated one gets the same answer. Rejects where there
   * is no answer, and may have counted it all the same. `holder` names the process, another one at each start.
   */
  exchange(holder: string, message: LeaseMessage): LeaseAnswer | Promise<LeaseAnswer>;
}
