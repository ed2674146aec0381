import { counterKey, type Limit } from '../../../gateway/limits/limit-table.ts';
import { type Counter, counterOf, type Now } from './counters.ts';

/** How many groups each reservation checks, to forget those whose counters are at zero: more than it can add. */
const swept_per_reservation = 5;
/** One that was found in use is not checked again for so long. */
const in_use_ms = 1000;

/** Whose use a counter counts: an account's, or that of one of its keys. */
export interface CounterOwner extends Pick<Limit, 'key' | 'member'> {
  /** Under which it is counted: the root of a tree. */
  readonly account: string;
}

/** One name for each account and each key. */
export const ownerName = ({ account, key, member = account }: CounterOwner): string =>
  key === undefined ? `account ${member}` : `key ${key}`;

/** Whether a limit is that of an account, or of a key. */
export const isOwn = (limit: Limit, { key, member }: Omit<CounterOwner, 'account'>): boolean =>
  limit.key === key && limit.member === member;

const counterName = ({ key, member, ...limit }: Limit): string => counterKey(limit);

/** The counters of an account or a key by name and model: found and forgotten together. They stay when the account gets another parent. */
class CounterGroup {
  readonly name: string;
  readonly counters = new Map<string, Counter>();
  isForgotten = false;
  /** Not checked before, on the monotonic clock. */
  in_use_until_ms = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** The counter of a limit, made at first use. */
  of(limit: Limit, now: Now): Counter {
    const name = counterName(limit);
    let counter = this.counters.get(name);
    if (!counter) this.counters.set(name, (counter = counterOf(limit, now)));
    return counter;
  }

  isIdle(now: Now): boolean {
    for (const counter of this.counters.values()) if (counter.used(now) > 0) return false;
    return true;
  }
}

/** The counters of a list of limits, in its order. */
interface BoundCounters {
  readonly account: string;
  readonly groups: readonly CounterGroup[];
  readonly counters: readonly Counter[];
}

/** Counters by accounts and keys. A group takes memory while one of its counters is above zero. */
export class CounterGroups {
  readonly #groups = new Map<string, CounterGroup>();
  /** The same in any order, and which of them is checked next. */
  readonly #checked: CounterGroup[] = [];
  #next = 0;
  readonly #bound = new WeakMap<readonly Limit[], BoundCounters>();

  get size(): number {
    return this.#groups.size;
  }

  /** The group of an account or a key, made at first use. */
  of(owner: CounterOwner): CounterGroup {
    const name = ownerName(owner);
    let group = this.#groups.get(name);
    if (!group) {
      this.#groups.set(name, (group = new CounterGroup(name)));
      this.#checked.push(group);
    }
    return group;
  }

  /** The counter of a limit, if there is one. */
  find(account: string, limit: Limit): Counter | undefined {
    const { key, member } = limit;
    return this.#groups.get(ownerName({ account, key, member }))?.counters.get(counterName(limit));
  }

  /** The counters of this very list of limits; undefined unless they have been bound, and all are remembered. */
  bound(account: string, limits: readonly Limit[]): readonly Counter[] | undefined {
    const bound = this.#bound.get(limits);
    if (bound?.account !== account) return undefined;
    for (const group of bound.groups) if (group.isForgotten) return undefined;
    return bound.counters;
  }

  /** Finds or makes the counters of a list of limits, and remembers them for `bound`. */
  bind(account: string, limits: readonly Limit[], now: Now): readonly Counter[] {
    const groups = limits.map(({ key, member }) => this.of({ account, key, member }));
    const counters = limits.map((limit, at) => groups[at]!.of(limit, now));
    this.#bound.set(limits, { account, groups: [...new Set(groups)], counters });
    return counters;
  }

  /** Checks some groups, and forgets those whose counters are at zero. */
  forgetIdle(now: Now): void {
    for (let checked = 0; checked < swept_per_reservation && this.#checked.length > 0; checked++) {
      this.#next = (this.#next + 1) % this.#checked.length;
      const group = this.#checked[this.#next]!;
      if (group.in_use_until_ms > now.elapsed_ms) continue;
      if (!group.isIdle(now)) {
        group.in_use_until_ms = now.elapsed_ms + in_use_ms;
        continue;
      }
      group.isForgotten = true;
      this.#groups.delete(group.name);
      this.#checked[this.#next] = this.#checked.at(-1)!;
      this.#checked.pop();
    }
  }
}
