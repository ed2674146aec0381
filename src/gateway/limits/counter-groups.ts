import { Counter, type Now } from './counters.ts';
import { counterKey, type Limit } from './limit-table.ts';

/** Counters that are found and forgotten together: those of one account, or of one of its keys. */
export class CounterGroup {
  readonly #counters = new Map<string, Counter>();

  /** The counter of a limit, made at first use. */
  of(limit: Limit): Counter {
    const name = counterKey(limit);
    let counter = this.#counters.get(name);
    if (!counter) this.#counters.set(name, (counter = new Counter(limit)));
    return counter;
  }

  has(limit: Limit): boolean {
    return this.#counters.has(counterKey(limit));
  }

  get all(): Iterable<Counter> {
    return this.#counters.values();
  }

  /** Drops counters at zero; returns true if none remain. */
  forgetIdle(now: Now): boolean {
    for (const [name, counter] of this.#counters) if (counter.used(now) === 0) this.#counters.delete(name);
    return this.#counters.size === 0;
  }
}

/** Counters by accounts, or by keys. A group takes memory while one of its counters is above zero. */
export class CounterGroups {
  readonly #groups = new Map<string, CounterGroup>();
  #sweep = this.#groups.entries();

  get size(): number {
    return this.#groups.size;
  }

  /** The group of this name, made at first use. */
  of(name: string): CounterGroup {
    let group = this.#groups.get(name);
    if (!group) this.#groups.set(name, (group = new CounterGroup()));
    return group;
  }

  /** The same without making it. */
  find(name: string): CounterGroup | undefined {
    return this.#groups.get(name);
  }

  /** Checks the next `count` groups, and forgets those whose counters are at zero. */
  forgetIdle(count: number, now: Now): void {
    if (this.#groups.size === 0) return;
    for (let checked = 0; checked < count; checked++) {
      const { done, value } = this.#sweep.next();
      if (done) {
        this.#sweep = this.#groups.entries();
        return;
      }
      const [name, group] = value;
      if (group.forgetIdle(now)) this.#groups.delete(name);
    }
  }
}
