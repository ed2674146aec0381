import type { Clock } from '../../src/plugin.ts';

/** Nobody takes what is older. */
const kept_ms = 60_000;

interface Known {
  readonly at_ms: number;
  readonly value: Promise<unknown>;
}

/** What readers of live pages ask for is read once in a while: many of them cost as much as one. */
export class SharedReads {
  readonly #clock: Pick<Clock, 'elapsed_ms'>;
  readonly #known = new Map<string, Known>();

  constructor(clock: Pick<Clock, 'elapsed_ms'>) {
    this.#clock = clock;
  }

  /** What was read under `name` less than `fresh_ms` ago, a minute at most, or else what `read` resolves with. A failure is not shared. */
  read<T>(name: string, fresh_ms: number, read: () => Promise<T>): Promise<T> {
    const now_ms = this.#clock.elapsed_ms();
    for (const [known, { at_ms }] of this.#known) if (now_ms - at_ms >= kept_ms) this.#known.delete(known);
    const known = this.#known.get(name);
    if (known && now_ms - known.at_ms < fresh_ms) return known.value as Promise<T>;
    const value = read();
    this.#known.set(name, { at_ms: now_ms, value });
    value.catch(() => this.#known.delete(name));
    return value;
  }
}
