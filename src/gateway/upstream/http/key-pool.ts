import type { Clock } from '../../../common/clock.ts';

/** The pause of a key that the upstream refused; an operator may enable it again. */
const refused_pause_ms = 60_000;
/** The pause of a key at its rate limit, without `Retry-After`. */
const limited_pause_ms = 10_000;
const min_pause_ms = 1000;
const max_pause_ms = 300_000;

/** One of a provider's keys. */
export interface ProviderKey {
  readonly value: string;
  /** Headers that carry the key. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Entry extends ProviderKey {
  /** On `clock.elapsed_ms`; before it the key is used only if all others are paused too. */
  paused_until_ms: number;
}

/** The keys of one provider, used round-robin. A key that the upstream refused or limited is paused while there are others. */
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

  /** Replaces the keys; those that stay keep their pauses. */
  replace(values: readonly string[]): void {
    const before = new Map(this.#entries.map(entry => [entry.value, entry]));
    this.#entries = [...new Set(values)].map(
      value => before.get(value) ?? { value, headers: this.#headersOf(value), paused_until_ms: 0 },
    );
  }

  /** Takes over the pauses of keys that `before` has as well. */
  inherit(before: KeyPool): void {
    for (const entry of this.#entries) {
      const known = before.#entries.find(({ value }) => value === entry.value);
      entry.paused_until_ms = Math.max(entry.paused_until_ms, known?.paused_until_ms ?? 0);
    }
  }

  /** The next key that is not paused, or the one whose pause ends first; `undefined` without keys. */
  next(): ProviderKey | undefined {
    const entries = this.#entries;
    if (entries.length < 2) return entries[0];
    const now_ms = this.#clock.elapsed_ms();
    const first = this.#turn++ % entries.length;
    const inTurn = [...entries.slice(first), ...entries.slice(0, first)];
    return (
      inTurn.find(({ paused_until_ms }) => paused_until_ms <= now_ms) ??
      inTurn.toSorted((a, b) => a.paused_until_ms - b.paused_until_ms)[0]
    );
  }

  /** Reports the status of a reply to a request with `key`. Pauses the key and returns true for 401, 403 and 429. */
  answered(key: ProviderKey | undefined, status: number, retry_after_s: number | undefined): boolean {
    if (!key || (status !== 401 && status !== 403 && status !== 429)) return false;
    const entry = this.#entries.find(({ value }) => value === key.value);
    // The key was replaced meanwhile.
    if (!entry) return true;
    const asked_ms = retry_after_s === undefined ? limited_pause_ms : retry_after_s * 1000;
    const limited_ms = Math.min(Math.max(asked_ms, min_pause_ms), max_pause_ms);
    const pause_ms = status === 429 ? limited_ms : refused_pause_ms;
    entry.paused_until_ms = Math.max(entry.paused_until_ms, this.#clock.elapsed_ms() + pause_ms);
    return true;
  }

  /** Whether any key is not paused. */
  get hasFresh(): boolean {
    const now_ms = this.#clock.elapsed_ms();
    return this.#entries.some(({ paused_until_ms }) => paused_until_ms <= now_ms);
  }
}
