import { picoUsd } from '../../money.ts';
import { minute_ms } from './calendar-day.ts';
import type { AttemptRow, LedgerRow, RefusalCount } from './ledger-entry.ts';
import { firstTokenColumnOf } from './traffic-sums.ts';

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

/** What is counted of exchanges; the columns of the tables of sums. */
export type UsageCounts = typeof zero;
export const usageColumnNames = Object.keys(zero) as readonly (keyof UsageCounts)[];

/** Exchanges of one minute that every sum has in the same row, added up. */
export interface AlikeExchanges extends Pick<LedgerRow, 'account' | 'key_id' | 'end_reason'> {
  /** The beginning of their minute. */
  readonly started_ms: number;
  /** Empty where there is none, as with the next two. */
  readonly model: string;
  readonly provider: string;
  readonly error_type: string;
  readonly usage: UsageCounts;
  /** How many had their first token in the time of each column. */
  readonly first_tokens: Record<string, number>;
}

/** Attempts that began in one minute and ended alike; a text is empty where there is none. */
export interface AlikeAttempts {
  /** The beginning of their minute. */
  readonly at_ms: number;
  readonly provider: string;
  readonly outcome: string;
  readonly kind: string;
  count: number;
}

/** Type of the error of a request; its status for errors that the application's own handler sent, and empty without one. */
const errorTypeOf = ({ error_type, status }: Pick<LedgerRow, 'error_type' | 'status'>): string =>
  error_type ?? (status >= 400 ? String(status) : '');

/** Exchanges and attempts to be added to the sums: alike ones are added up first, so that a sum has few to add however many there are. */
export class ExchangeCounts {
  readonly #alike = new Map<string, AlikeExchanges>();
  readonly #attempts = new Map<string, AlikeAttempts>();

  get exchanges(): readonly AlikeExchanges[] {
    return [...this.#alike.values()];
  }

  get attempts(): readonly AlikeAttempts[] {
    return [...this.#attempts.values()];
  }

  addRow(row: LedgerRow): void {
    const { usage, first_tokens } = this.#alikeOf(row, row.provider);
    usage.requests++;
    if (isFailed(row)) usage.failed_requests++;
    if (row.estimated) usage.estimated_requests++;
    usage.prompt_tokens += row.prompt_tokens;
    usage.completion_tokens += row.completion_tokens;
    usage.cached_tokens += row.cached_tokens;
    usage.reasoning_tokens += row.reasoning_tokens;
    usage.cost_pico_usd += picoUsd(row.cost_usd);
    if (row.first_token_ms !== null) {
      const column = firstTokenColumnOf(row.first_token_ms);
      first_tokens[column] = (first_tokens[column] ?? 0) + 1;
    }
    // A row that waited on disk may be of a version without them.
    for (const attempt of row.attempts_made ?? []) this.#addAttempt(row.started_ms, attempt);
  }

  /** Adds refusals that have no rows. */
  addRefusals(refusals: RefusalCount): void {
    const { usage } = this.#alikeOf(refusals, null);
    usage.requests += refusals.requests;
    if (isFailed(refusals)) usage.failed_requests += refusals.requests;
  }

  #alikeOf(exchange: LedgerRow | RefusalCount, from: string | null): AlikeExchanges {
    const { account, key_id, end_reason } = exchange;
    const started_ms = minuteOf(exchange.started_ms);
    const model = exchange.model ?? '';
    const provider = from ?? '';
    const error_type = errorTypeOf(exchange);
    const name = `${started_ms}\n${account}\n${key_id}\n${model}\n${provider}\n${error_type}\n${end_reason}`;
    let alike = this.#alike.get(name);
    if (!alike) {
      const facts = { started_ms, account, key_id, model, provider, error_type, end_reason };
      this.#alike.set(name, (alike = { ...facts, usage: { ...zero }, first_tokens: {} }));
    }
    return alike;
  }

  #addAttempt(started_ms: number, attempt: AttemptRow): void {
    const at_ms = minuteOf(started_ms + attempt.offset_ms);
    const provider = attempt.provider ?? '';
    const outcome = attempt.outcome ?? '';
    const kind = attempt.kind ?? '';
    const name = `${at_ms}\n${provider}\n${outcome}\n${kind}`;
    const known = this.#attempts.get(name);
    if (known) known.count++;
    else this.#attempts.set(name, { at_ms, provider, outcome, kind, count: 1 });
  }
}

const minuteOf = (epoch_ms: number): number => epoch_ms - (epoch_ms % minute_ms);

const isFailed = ({ error_type, status }: Pick<LedgerRow, 'error_type' | 'status'>): boolean =>
  error_type !== null || status >= 400;
