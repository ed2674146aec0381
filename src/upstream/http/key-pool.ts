import type { Clock } from '../../clock.ts';

/** How long a key rests that the upstream did not accept: it may be accepted again one day, and others are there meanwhile. */
const refused_rest_ms = 60_000;
/** How long a key rests that is at its limit, where the upstream does not say. */
const limited_rest_ms = 10_000;
const min_rest_ms = 1000;
const max_rest_ms = 300_000;

/** One of a provider's keys. */
export interface ProviderKey {
  readonly value: string;
  /** What shows the key to the upstream. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Entry extends ProviderKey {
  /** Not used before this, on `clock.elapsed_ms`, as long as there are others. */
  rests_until_ms: number;
}

/** The keys of one provider, used in turn. A key that the upstream refused or limited rests while there are others. */
export class KeyPool {
  readonly #clock: Clock;
  readonly #headersOf: (value: string) => Readonly<Record<string, string>>;
  #entries: readonly Entry[] = [];
  #turn = 0;

  constructor(
    values: readonly string[],
    headersOf: (value: string) => Readonly<Record<string, string>>,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#headersOf = headersOf;
    this.replace(values);
  }

  get values(): readonly string[] {
    return this.#entries.map(({ value }) => value);
  }

  /** Other keys from now on; those that were there before keep resting if they do. */
  replace(values: readonly string[]): void {
    const before = new Map(this.#entries.map(entry => [entry.value, entry]));
    this.#entries = [...new Set(values)].map(
      value => before.get(value) ?? { value, headers: this.#headersOf(value), rests_until_ms: 0 },
    );
  }

  /** The key for the next request: in turn, or the one that has rested longest when all rest. `undefined` when there are no keys. */
  next(): ProviderKey | undefined {
    const entries = this.#entries;
    if (entries.length < 2) return entries[0];
    const now_ms = this.#clock.elapsed_ms();
    const first = this.#turn++ % entries.length;
    let soonest = entries[first]!;
    for (let step = 0; step < entries.length; step++) {
      const entry = entries[(first + step) % entries.length]!;
      if (entry.rests_until_ms <= now_ms) return entry;
      if (entry.rests_until_ms < soonest.rests_until_ms) soonest = entry;
    }
    return soonest;
  }

  /**
   * The upstream answered `status` to a request with `key`. True when that is about the key (401, 403, 429): it rests from now on, as long as
   * `retry_after_s` says.
   */
  answered(key: ProviderKey | undefined, status: number, retry_after_s: number | undefined): boolean {
    if (!key || (status !== 401 && status !== 403 && status !== 429)) return false;
    const entry = this.#entries.find(({ value }) => value === key.value);
    // Taken out of the pool meanwhile.
    if (!entry) return true;
    const rest_ms =
      status === 429
        ? Math.min(
            Math.max(retry_after_s === undefined ? limited_rest_ms : retry_after_s * 1000, min_rest_ms),
            max_rest_ms,
          )
        : refused_rest_ms;
    entry.rests_until_ms = Math.max(entry.rests_until_ms, this.#clock.elapsed_ms() + rest_ms);
    return true;
  }

  /** Whether there is a key that does not rest. */
  get hasFresh(): boolean {
    const now_ms = this.#clock.elapsed_ms();
    return this.#entries.some(({ rests_until_ms }) => rests_until_ms <= now_ms);
  }
}
