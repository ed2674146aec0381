import type { Limit } from './state-store.ts';

/** What an account has used of a day and of a month, by the ledger. */
export interface PastUse {
  /** The day since 1970, and the month since the year 0, as in `CalendarDay`. */
  readonly day: number;
  readonly month: number;
  /** Tokens of the day or billionths of a dollar of the month, of all models or of the limit's. */
  of(limit: Limit): number;
}

/** Finds what accounts have used before this process counted it. */
export interface PastUses {
  /** Rejects while the ledger cannot be read. */
  find(account: string): Promise<PastUse>;
}
