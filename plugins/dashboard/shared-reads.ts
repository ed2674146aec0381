import type { Clock } from '../../src/plugin.ts';

interface Known {
  readonly until_ms: number;
  readonly value: Promise<unknown>;
}

/** What readers of live pages ask for is read once in a while: many of them cost as much as one. */
export class SharedReads {
  readonly #clock: Pick<Clock, 'elapsed_ms'>;
  readonly #known = new Map<string, Known>();

  constructor(clock: Pick<Clock, 'elapsed_ms'>) {
    this.#clock = clock;
  }

  /** What was read under `name` less than `fresh_ms` ago, or else what `read` resolves with. A failure is not shared. */
  read<T>(name: string, fresh_ms: number, read: () => Promise<T>): Promise<T> {
    const now_ms = this.#clock.elapsed_ms();
    for (const [known, { until_ms }] of this.#known) if (until_ms <= now_ms) this.#known.delete(known);
    const known = this.#known.get(name);
    if (known) return known.value as Promise<T>;
    const value = read();
    this.#known.set(name, { until_ms: now_ms + fresh_ms, value });
    value.catch(() => this.#known.delete(name));
    return value;
  }
}
