import { day_ms, hourOf } from './calendar-day.ts';
import type { Connection } from './database.ts';
import { type Counts, KeptSums } from './kept-sums.ts';
import type { LedgerRow } from './ledger-entry.ts';

/** No account has this name: sums of all accounts have it. */
export const all_accounts = '';

/** How long sums by the hour are kept. */
export const hours_ms = 92 * day_ms;

/** The columns by which they are added up; all are text, and empty where there is none. */
export const hourlySumKeys = 'hour, account, model, provider, key_id';
export const providerSumKeys = 'day, model, provider';

/**
 * Sums for the groups that `daily_sums` has not. By the hour: of each account, with its keys, and of all accounts together, without. By
 * the day and provider: of all accounts. The time is first in their keys, so that new rows lie together.
 */
export class DetailedSums {
  readonly #hourly = new KeptSums();
  readonly #byProvider = new KeptSums();

  add(
    exchange: Pick<LedgerRow, 'account' | 'started_ms' | 'model' | 'provider' | 'key_id'>,
    counts: Counts,
  ): void {
    const { account, started_ms, key_id } = exchange;
    const hour = hourOf(started_ms);
    const model = exchange.model ?? '';
    const provider = exchange.provider ?? '';
    this.#hourly.add({ hour, account, model, provider, key_id: key_id ?? '' }, counts);
    this.#hourly.add({ hour, account: all_accounts, model, provider, key_id: '' }, counts);
    this.#byProvider.add({ day: hour.slice(0, 10), model, provider }, counts);
  }

  async write(connection: Connection): Promise<void> {
    await this.#hourly.write(connection, 'sluice.hourly_sums');
    await this.#byProvider.write(connection, 'sluice.provider_sums');
  }
}
