import type { Limit } from '../../gateway/limits/limit-table.ts';
import type { Charge } from '../../gateway/limits/limit-units.ts';
import type { LimitStatuses, ReservationRequest } from '../../gateway/limits/state-store.ts';

/** The use of the limit that was asked about at the same place. */
export type StatusRow = readonly [remaining: number, reset_ms: number];

/** A `ReservationResult`, with limits by their places in the request. */
export type ReservationAnswer =
  | {
      readonly refused_by?: undefined;
      readonly statuses: readonly StatusRow[];
      readonly over: readonly number[];
    }
  | { readonly refused_by: number; readonly statuses: readonly StatusRow[]; readonly retry_ms: number };

export type Settlement = readonly [id: string, used: Charge];

/** Lists of limits that are kept as they were read. */
const max_lists = 1000;

const limitTexts = new WeakMap<readonly Limit[], string>();

/** An account has the same list of limits in each of its requests. */
function limitsText(limits: readonly Limit[]): string {
  let text = limitTexts.get(limits);
  if (text === undefined) limitTexts.set(limits, (text = JSON.stringify(limits)));
  return text;
}

/** Messages between a worker and the primary. They are texts in JSON, several for each request of a client. */
export const stateMessages = {
  reservation: ({ id, account, limits, charge, force }: ReservationRequest): string =>
    JSON.stringify([
      id,
      account,
      limitsText(limits),
      charge.requests,
      charge.tokens,
      charge.nano_usd,
      force === true,
      charge.ceiling?.tokens,
      charge.ceiling?.nano_usd,
    ]),
  answer: (answer: ReservationAnswer): string => JSON.stringify(answer),
  readAnswer: (text: string): ReservationAnswer => JSON.parse(text),
  settlement: ([id, { requests, tokens, nano_usd }]: Settlement): string =>
    JSON.stringify([id, requests, tokens, nano_usd]),
  readSettlement(text: string): Settlement {
    const [id, requests, tokens, nano_usd] = JSON.parse(text);
    return [id, { requests, tokens, nano_usd }];
  },
  rows: (statuses: LimitStatuses): StatusRow[] =>
    statuses.map(({ remaining, reset_ms }) => [remaining, reset_ms]),
};

/** Reads reservations. The same limits are the same list. */
export class ReservationReader {
  readonly #lists = new Map<string, readonly Limit[]>();

  read(text: string): ReservationRequest {
    const [id, account, limits, requests, tokens, nano_usd, force, most_tokens, most_nano_usd] =
      JSON.parse(text);
    const ceiling = most_tokens === null ? undefined : { tokens: most_tokens, nano_usd: most_nano_usd };
    return {
      id,
      account,
      limits: this.#listOf(limits),
      charge: { requests, tokens, nano_usd, ceiling },
      force,
    };
  }

  #listOf(text: string): readonly Limit[] {
    let list = this.#lists.get(text);
    if (list) return list;
    if (this.#lists.size >= max_lists) this.#lists.clear();
    this.#lists.set(text, (list = JSON.parse(text) as Limit[]));
    return list;
  }
}
