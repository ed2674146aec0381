import { StoreUnavailable } from '../../records/record-errors.ts';

/** Names that may wait for an answer. */
const max_waiting = 5000;
/** Time without queries after a failure, so that a store that hangs costs its timeout once and not in every request. */
const pause_ms = 1000;

/** Finds the results for names, in their order. */
type LookUp<T> = (names: readonly string[]) => Promise<readonly T[]>;

/**
 * Looks names up in the store, one query at a time for all names that were requested meanwhile, so that the store has one query to answer
 * however many there are. Rejects as the store does, and with StoreUnavailable when too many wait.
 */
export class BatchedLookups<T> {
  readonly #lookUp: LookUp<T>;
  readonly #names_per_query: number;
  readonly #waiting = new Map<string, PromiseWithResolvers<T>>();
  #running = new Map<string, PromiseWithResolvers<T>>();
  #failed_ms = Number.NEGATIVE_INFINITY;
  #fault: unknown;

  constructor(lookUp: LookUp<T>, names_per_query = 200) {
    this.#lookUp = lookUp;
    this.#names_per_query = names_per_query;
  }

  find(name: string): Promise<T> {
    const known = this.#waiting.get(name);
    if (known) return known.promise;
    if (performance.now() - this.#failed_ms < pause_ms) return Promise.reject(this.#fault);
    if (this.#waiting.size >= max_waiting)
      return Promise.reject(new StoreUnavailable('too much is being looked up'));
    const waiting = Promise.withResolvers<T>();
    this.#waiting.set(name, waiting);
    if (this.#running.size === 0) void this.#run();
    return waiting.promise;
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      this.#running = new Map([...this.#waiting].slice(0, this.#names_per_query));
      for (const name of this.#running.keys()) this.#waiting.delete(name);
      try {
        const found = await this.#lookUp([...this.#running.keys()]);
        for (const [at, { resolve }] of [...this.#running.values()].entries()) resolve(found[at]!);
      } catch (thrown) {
        this.#fail(thrown);
      }
    }
    this.#running = new Map();
  }

  #fail(fault: unknown): void {
    this.#failed_ms = performance.now();
    this.#fault = fault;
    for (const { reject } of [...this.#running.values(), ...this.#waiting.values()]) reject(fault);
    this.#waiting.clear();
  }
}
