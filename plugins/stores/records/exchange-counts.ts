import {
  type AttemptRow,
  type EndClass,
  endClassOf,
  errorClasses,
  errorNameOf,
  isErrorClass,
  type LedgerRow,
  minute_ms,
  picoUsd,
  type RefusalCount,
} from '../../../src/store-plugin.ts';
import { durationColumnOf, firstTokenColumnOf } from './traffic-sums.ts';

const zero = {
  requests: 0,
  failed_requests: 0,
  estimated_requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_pico_usd: 0n,
};

/** What is counted of every exchange. */
export type UsageCounts = typeof zero;
/** What is counted of exchanges of which it is known what their providers are paid. */
export const noPaid = { paid_requests: 0, paid_pico_usd: 0n, margin_pico_usd: 0n };
/** The columns of the tables of sums: these, and the errors by class. */
export const usageColumnNames: readonly string[] = [
  ...Object.keys(zero),
  ...errorClasses,
  ...Object.keys(noPaid),
];

/** Exchanges of one minute that every sum has in the same row, added up. */
export interface AlikeExchanges extends Pick<LedgerRow, 'account' | 'key_id' | 'end_reason'> {
  /** The beginning of their minute. */
  readonly started_ms: number;
  /** Empty where there is none, as with the next two. */
  readonly model: string;
  readonly provider: string;
  readonly error_type: string;
  readonly end_class: EndClass;
  readonly usage: UsageCounts;
  /** Undefined if it is known of none. */
  paid: typeof noPaid | undefined;
  /** How many had their first token in the time of each column. */
  readonly first_tokens: Record<string, number>;
}

/** Attempts that began in one minute and ended alike; a text is empty where there is none. */
export interface AlikeAttempts {
  /** The beginning of their minute. */
  readonly at_ms: number;
  readonly provider: string;
  /** The name there. */
  readonly model: string;
  readonly outcome: string;
  readonly kind: string;
  count: number;
  /** How many had their first token, and how many ended, in the time of each column. */
  readonly times: Record<string, number>;
}

/** Exchanges and attempts to be added to the sums: alike ones are added up first, so that a sum has few to add however many there are. */
export class ExchangeCounts {
  /** By account: comparing the fields of a few costs less than a text of all fields as a key. */
  readonly #alike = new Map<string, AlikeExchanges[]>();
  readonly attempts: AlikeAttempts[] = [];

  get exchanges(): readonly AlikeExchanges[] {
    return [...this.#alike.values()].flat();
  }

  addRow(row: LedgerRow): void {
    const alike = this.#alikeOf(row, row.provider);
    const { usage, first_tokens } = alike;
    countRequests(alike, 1);
    if (row.estimated) usage.estimated_requests++;
    usage.prompt_tokens += row.prompt_tokens;
    usage.completion_tokens += row.completion_tokens;
    usage.cached_tokens += row.cached_tokens;
    usage.reasoning_tokens += row.reasoning_tokens;
    const cost_pico_usd = picoUsd(row.cost_usd);
    usage.cost_pico_usd += cost_pico_usd;
    // A row that waited on disk may be of a version without it.
    if (row.paid_usd != null) addPaid((alike.paid ??= { ...noPaid }), cost_pico_usd, picoUsd(row.paid_usd));
    if (row.first_token_ms !== null) add(first_tokens, firstTokenColumnOf(row.first_token_ms));
    // As above.
    for (const attempt of row.attempts_made ?? []) this.#addAttempt(row.started_ms, attempt);
  }

  /** Adds refusals that have no rows. */
  addRefusals(refusals: RefusalCount): void {
    countRequests(this.#alikeOf(refusals, null), refusals.requests);
  }

  #alikeOf(exchange: LedgerRow | RefusalCount, from: string | null): AlikeExchanges {
    const { account, key_id, end_reason } = exchange;
    const started_ms = minuteOf(exchange.started_ms);
    const model = exchange.model ?? '';
    const provider = from ?? '';
    const error_type = errorNameOf(exchange.error_type, exchange.status);
    let ofAccount = this.#alike.get(account);
    if (!ofAccount) this.#alike.set(account, (ofAccount = []));
    const known = ofAccount.findLast(
      alike =>
        alike.started_ms === started_ms &&
        alike.key_id === key_id &&
        alike.model === model &&
        alike.provider === provider &&
        alike.error_type === error_type &&
        alike.end_reason === end_reason,
    );
    if (known) return known;
    const end_class = endClassOf(end_reason, error_type);
    const facts = { started_ms, account, key_id, model, provider, error_type, end_reason, end_class };
    const alike: AlikeExchanges = { ...facts, usage: { ...zero }, paid: undefined, first_tokens: {} };
    ofAccount.push(alike);
    return alike;
  }

  #addAttempt(started_ms: number, attempt: AttemptRow): void {
    const at_ms = minuteOf(started_ms + attempt.offset_ms);
    const provider = attempt.provider ?? '';
    const model = attempt.model ?? '';
    const outcome = attempt.outcome ?? '';
    const kind = attempt.kind ?? '';
    let alike = this.attempts.findLast(
      known =>
        known.at_ms === at_ms &&
        known.provider === provider &&
        known.model === model &&
        known.outcome === outcome &&
        known.kind === kind,
    );
    if (!alike) this.attempts.push((alike = { at_ms, provider, model, outcome, kind, count: 0, times: {} }));
    alike.count++;
    const { first_token_ms, duration_ms } = attempt;
    if (first_token_ms !== null) add(alike.times, firstTokenColumnOf(first_token_ms));
    if (duration_ms !== null) add(alike.times, durationColumnOf(duration_ms));
  }
}

const minuteOf = (epoch_ms: number): number => epoch_ms - (epoch_ms % minute_ms);

function countRequests({ usage, end_class }: AlikeExchanges, requests: number): void {
  usage.requests += requests;
  if (isErrorClass(end_class)) usage.failed_requests += requests;
}

function addPaid(paid: typeof noPaid, cost_pico_usd: bigint, paid_pico_usd: bigint): void {
  paid.paid_requests++;
  paid.paid_pico_usd += paid_pico_usd;
  paid.margin_pico_usd += cost_pico_usd - paid_pico_usd;
}

function add(counts: Record<string, number>, column: string): void {
  counts[column] = (counts[column] ?? 0) + 1;
}
