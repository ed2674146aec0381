import { minute_ms, refusal } from '../../../src/plugin.ts';

/** Requests of an account in a minute of the clock, at each instance. */
export const max_per_minute = 60;

/** Bounds how often accounts ask what they have used: each answer is a query of the store, and counts under no limit. */
export class AccountPace {
  #minute = 0;
  /** Those of this minute; accounts are known by then, so that there are no more than customers. */
  readonly #asked = new Map<string, number>();

  /** Throws 429 above the bound. */
  admit(account: string, now_ms: number): void {
    const minute = Math.floor(now_ms / minute_ms);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#asked.clear();
    }
    const asked = (this.#asked.get(account) ?? 0) + 1;
    this.#asked.set(account, asked);
    if (asked <= max_per_minute) return;
    const wait_s = Math.ceil(((minute + 1) * minute_ms - now_ms) / 1000);
    throw refusal('rate_limited', {
      message: `Usage can be asked for ${max_per_minute} times a minute. Retry in ${wait_s} seconds.`,
      headers: { 'retry-after': String(wait_s) },
    });
  }
}
