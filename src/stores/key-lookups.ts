import { StoreUnavailable } from './records/database.ts';
import type { FoundKey, KeyRecords } from './records/key-records.ts';

/** How many keys one query looks up, and how many may wait for theirs. */
const keys_per_query = 200;
const max_waiting = 5000;
/** After a failure no further query is tried for this long, so that a store that hangs costs its time-out once and not every request. */
const pause_ms = 1000;

type Answer = Promise<FoundKey | undefined>;

interface Waiting {
  readonly answer: Answer;
  resolve(found: FoundKey | undefined): void;
  reject(fault: unknown): void;
}

/**
 * Looks keys up in the store, all that are asked for meanwhile in one query, one query at a time: however many keys are tried, by
 * whomever, the store has one question to answer. Rejects with StoreUnavailable, also when too many are waiting.
 */
export class KeyLookups {
  readonly #keys: Pick<KeyRecords, 'lookUp'>;
  readonly #waiting = new Map<string, Waiting>();
  #running = new Map<string, Waiting>();
  #failed_ms = Number.NEGATIVE_INFINITY;
  #fault: unknown;

  constructor(keys: Pick<KeyRecords, 'lookUp'>) {
    this.#keys = keys;
  }

  find(digest: string): Answer {
    const known = this.#waiting.get(digest);
    if (known) return known.answer;
    if (performance.now() - this.#failed_ms < pause_ms) return Promise.reject(this.#fault);
    if (this.#waiting.size >= max_waiting)
      return Promise.reject(new StoreUnavailable('too many keys are being looked up'));
    const { promise: answer, resolve, reject } = Promise.withResolvers<FoundKey | undefined>();
    this.#waiting.set(digest, { answer, resolve, reject });
    if (this.#running.size === 0) void this.#run();
    return answer;
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      this.#running = new Map([...this.#waiting].slice(0, keys_per_query));
      for (const digest of this.#running.keys()) this.#waiting.delete(digest);
      try {
        const found = await this.#keys.lookUp([...this.#running.keys()]);
        const byDigest = new Map(found.map(key => [key.digest, key]));
        for (const [digest, { resolve }] of this.#running) resolve(byDigest.get(digest));
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
