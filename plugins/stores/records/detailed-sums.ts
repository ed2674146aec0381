import { type Connection, hourOf } from '../../../src/plugin.ts';
import type { AlikeExchanges } from './exchange-counts.ts';
import { type Counts, KeptSums } from './kept-sums.ts';

/** No account has this name: sums of all accounts have it. */
export const all_accounts = '';

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

  add({ account, started_ms, key_id, model, provider }: AlikeExchanges, counts: Counts): void {
    const hour = hourOf(started_ms);
    this.#hourly.add({ hour, account, model, provider, key_id: key_id ?? '' }, counts);
    this.#hourly.add({ hour, account: all_accounts, model, provider, key_id: '' }, counts);
    this.#byProvider.add({ day: hour.slice(0, 10), model, provider }, counts);
  }

  async write(connection: Connection): Promise<void> {
    await this.#hourly.write(connection, 'sluice.hourly_sums');
    await this.#byProvider.write(connection, 'sluice.provider_sums');
  }
}
