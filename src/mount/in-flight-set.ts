import type { ExchangeRun } from '../gateway/exchange/runner.ts';

interface Entry {
  readonly run: ExchangeRun;
  ended: Promise<void> | undefined;
  /** Index in the set. */
  at: number;
}

/**
 * Runs that have begun and not ended. An array whose last entry takes the place of one that leaves: tables that a Map or a Set has outgrown
 * keep their former entries until the next full collection. With whole exchanges in them, young collections took 1.6 times as long.
 */
export class InFlightSet {
  readonly #entries: Entry[] = [];
  readonly #onEmpty: () => void;

  /** `onEmpty` is called each time the last run has ended. */
  constructor(onEmpty: () => void = () => {}) {
    this.#onEmpty = onEmpty;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Starts `run`, which is in the set until it has ended. */
  start(run: ExchangeRun): void {
    const entry: Entry = { run, ended: undefined, at: this.#entries.length };
    this.#entries.push(entry);
    entry.ended = run.run().then(() => this.#delete(entry));
  }

  /** Resolves when the runs that are in flight now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#entries.map(({ ended }) => ended));
  }

  /** A copy: runs may end while it is read. */
  runs(): ExchangeRun[] {
    return this.#entries.map(({ run }) => run);
  }

  #delete({ at }: Entry): void {
    const last = this.#entries.pop()!;
    if (at !== this.#entries.length) {
      last.at = at;
      this.#entries[at] = last;
    }
    if (this.#entries.length === 0) this.#onEmpty();
  }
}
