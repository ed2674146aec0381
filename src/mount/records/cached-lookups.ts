import QuickLRU from 'quick-lru';
import type { Clock } from '../../common/clock.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import { BatchedLookups } from './batched-lookups.ts';

/** About 300 bytes each. A cache of `maxSize` n holds at most 2n entries: the n used last, and up to n before them. */
const known_names = { maxSize: 25_000 };
const unknown_names = { maxSize: 5_000 };
/** Time without an answer to a poll after which an unknown name may have been created. */
const current_ms = 5000;
/** Time for which an unknown name is refused without asking again; a new one is noticed sooner. */
const unknown_ms = 30_000;

export interface CachedLookupsSetup<Found, Known> {
  /** Finds the records of some names, in their order. */
  lookUp(names: readonly string[]): Promise<readonly (Found | undefined)[]>;
  /** What is kept of a record; `undefined` for one that may not be used. May throw a GatewayError. */
  knownOf(name: string, found: Found): Known | undefined;
  /** Age in milliseconds of the newest changes of the store that are known here. */
  age_ms(): number;
  /** Time for which known names continue to work while the store is unavailable. */
  readonly ttl_ms: number;
  readonly clock: Clock;
}

/** Records of the store by name, cached until `forget` is called for a change. Unknown names are remembered for a shorter time. */
export class CachedLookups<Found, Known extends object> {
  readonly #setup: CachedLookupsSetup<Found, Known>;
  readonly #lookups: BatchedLookups<Found | undefined>;
  /** Number of calls of `forget`. */
  #changes = 0;
  readonly #known = new QuickLRU<string, Known>(known_names);
  /** Unknown names, and when that was found out. */
  readonly #unknown = new QuickLRU<string, number>(unknown_names);

  constructor(setup: CachedLookupsSetup<Found, Known>) {
    this.#setup = setup;
    this.#lookups = new BatchedLookups(names => setup.lookUp(names));
  }

  /** Finds a name, synchronously if it is cached. Rejects with `server_error` if it cannot be looked up. */
  find(name: string): Known | undefined | Promise<Known | undefined> {
    const { ttl_ms, clock } = this.#setup;
    const age_ms = this.#setup.age_ms();
    if (age_ms <= ttl_ms) {
      const known = this.#known.get(name);
      if (known) return known;
    }
    const asked_ms = this.#unknown.get(name);
    if (asked_ms !== undefined && age_ms <= current_ms && clock.elapsed_ms() - asked_ms < unknown_ms)
      return undefined;
    return this.#lookUp(name);
  }

  /** Drops what is known of `names`, and of those records that `isChanged` names. */
  forget(names: readonly string[] | 'all', isChanged?: (known: Known) => boolean): void {
    this.#changes++;
    if (names === 'all') {
      this.#known.clear();
      this.#unknown.clear();
      return;
    }
    for (const name of names) {
      this.#known.delete(name);
      this.#unknown.delete(name);
    }
    if (isChanged) for (const [name, known] of this.#known) if (isChanged(known)) this.#known.delete(name);
  }

  /** Looks up unknown names again at their next use. */
  forgetUnknown(): void {
    this.#changes++;
    this.#unknown.clear();
  }

  async #lookUp(name: string): Promise<Known | undefined> {
    const changes = this.#changes;
    const found = await this.#lookups.find(name).catch((cause): never => {
      throw refusal('server_error', { cause });
    });
    const known = found && this.#setup.knownOf(name, found);
    // Changes applied meanwhile may be newer than this answer.
    if (this.#changes === changes) {
      if (known) this.#known.set(name, known);
      else this.#unknown.set(name, this.#setup.clock.elapsed_ms());
    }
    return known;
  }
}
