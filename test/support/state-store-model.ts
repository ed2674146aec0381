import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Limit } from '../../src/gateway/limits/limit-table.ts';
import type { Charge } from '../../src/gateway/limits/limit-units.ts';
import type { LimitStatus, Reservation } from '../../src/gateway/limits/state-store.ts';
import { charge, limit, type StoreSetting } from './state-store-setting.ts';

/** The limits of an account, of its key and of one below it from which every take asks some. Small, so that they are often reached. */
const limitsOf = (account: string): readonly Limit[] => [
  limit('requests_per_minute', 5),
  limit('tokens_per_minute', 1000),
  limit('tokens_per_day', 4000),
  limit('concurrent_requests', 3),
  limit('usd_per_month', 9000),
  limit('requests_per_minute', 2, 'a/large'),
  limit('tokens_per_minute', 300, 'a/large'),
  { ...limit('requests_per_minute', 4), key: `key-${account}` },
  { ...limit('tokens_per_day', 2000), key: `key-${account}` },
  { ...limit('concurrent_requests', 2), key: `key-${account}` },
  { ...limit('requests_per_minute', 4), member: `team-${account}` },
  { ...limit('tokens_per_day', 2000), member: `team-${account}` },
];
const limit_count = limitsOf('').length;

type Step =
  | { do: 'reserve'; account: string; asked: number; tokens: number; nano_usd: number; force: boolean }
  | { do: 'settle'; which: number; used: Charge }
  | { do: 'wait'; ms: number };

const amount = fc.integer({ min: 0, max: 700 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      account: fc.constantFrom('a', 'b'),
      /** A bit for each limit. */
      asked: fc.integer({ min: 1, max: 2 ** limit_count - 1 }),
      tokens: amount,
      nano_usd: amount,
      force: fc.integer({ min: 0, max: 9 }).map(number => number === 0),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      which: fc.nat(),
      used: fc.record({ requests: fc.integer({ min: 0, max: 1 }), tokens: amount, nano_usd: amount }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(
        { weight: 2, arbitrary: fc.integer({ min: 1, max: 15_000 }) },
        { weight: 2, arbitrary: fc.integer({ min: 15_000, max: 62_000 }) },
        // Round ones, which add up to the edges of windows.
        {
          weight: 6,
          arbitrary: fc.constantFrom(1, 999, 1000, 1400, 28_600, 29_000, 30_000, 59_600, 59_999, 60_000),
        },
        { weight: 1, arbitrary: fc.integer({ min: 3_600_000, max: 40_000_000 }) },
      ),
    }),
  },
);

/** One amount that was taken, as simple as can be: when, and how much. */
interface Entry {
  readonly at_ms: number;
  amount: number;
}

const amountOf = ({ name }: Limit, { requests, tokens, nano_usd }: Charge): number => {
  if (name === 'requests_per_minute') return requests;
  if (name === 'concurrent_requests') return 1;
  return name === 'usd_per_month' ? nano_usd : tokens;
};

/** All that was ever taken under one limit of one account. */
class Book {
  readonly #entries: Entry[] = [];
  readonly #limit: Limit;
  readonly #lease_ms: number;

  constructor(limit: Limit, lease_ms: number) {
    this.#limit = limit;
    this.#lease_ms = lease_ms;
  }

  add(entry: Entry): Entry {
    this.#entries.push(entry);
    return entry;
  }

  /** The least and the most that may count: amounts of a minute may count one second longer, and leases that are not renewed expire. */
  counted(now_ms: number): { least: number; most: number } {
    const sum = (counts: (at_ms: number) => boolean) =>
      this.#entries.reduce((all, { at_ms, amount }) => (counts(at_ms) ? all + amount : all), 0);
    const { name } = this.#limit;
    const both = (counts: (at_ms: number) => boolean) => ({ least: sum(counts), most: sum(counts) });
    if (name === 'concurrent_requests')
      return { least: sum(at_ms => now_ms - at_ms < this.#lease_ms), most: sum(() => true) };
    if (name === 'tokens_per_day') return both(at_ms => isoDay(at_ms) === isoDay(now_ms));
    if (name === 'usd_per_month')
      return both(at_ms => isoDay(at_ms).slice(0, 7) === isoDay(now_ms).slice(0, 7));
    return { least: sum(at_ms => now_ms - at_ms < 60_000), most: sum(at_ms => now_ms - at_ms < 61_000) };
  }
}

const isoDay = (epoch_ms: number): string => new Date(epoch_ms).toISOString().slice(0, 10);

interface Open {
  readonly reservation: Reservation;
  readonly reserved: Charge;
  readonly entries: readonly { readonly limit: Limit; readonly book: Book; readonly entry: Entry }[];
}

/** Runs random steps against the store of `setting` and against books that are kept entry by entry. */
export async function checkAgainstModel(setting: StoreSetting, runs: number): Promise<void> {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const model = new Model(setting, `run-${++run}`);
      for (const step of steps) await model.run(step);
      await model.end();
    }),
    { numRuns: runs },
  );
}

class Model {
  readonly #setting: StoreSetting;
  readonly #name: string;
  readonly #books = new Map<string, Book>();
  readonly #open: Open[] = [];

  constructor(setting: StoreSetting, name: string) {
    this.#setting = setting;
    this.#name = name;
  }

  async run(step: Step): Promise<void> {
    if (step.do === 'wait') this.#setting.clock.advance(step.ms);
    else if (step.do === 'reserve') await this.#take(step);
    else if (this.#open.length > 0) await this.#settle(step.which % this.#open.length, step.used);
  }

  /** Settles what is open and waits for all windows: only days and months still count. */
  async end(): Promise<void> {
    while (this.#open.length > 0) await this.#settle(0, charge(10, 10));
    this.#setting.clock.advance(61_000);
    for (const account of ['a', 'b']) this.#compare(account, await this.#statuses(account));
  }

  async #take({ account, asked, tokens, nano_usd, force }: Extract<Step, { do: 'reserve' }>): Promise<void> {
    const now_ms = this.#setting.clock.epoch_ms();
    const reserved = charge(tokens, nano_usd);
    const wanted = limitsOf(this.#idOf(account)).filter((_, at) => asked & (1 << at));
    const before = wanted.map(limit => {
      const { least, most } = this.#book(account, limit).counted(now_ms);
      const need = Math.min(amountOf(limit, reserved), limit.max);
      return { limit, mustRefuse: least + need > limit.max, mayRefuse: most + need > limit.max };
    });
    const taken = await this.#setting.reserve(wanted, reserved, { account: this.#idOf(account), force });
    if (!taken.admitted) {
      expect(force).toBe(false);
      expect(before.filter(({ mayRefuse }) => mayRefuse).map(({ limit }) => limit)).toContainEqual(
        taken.refused_by,
      );
      expect(taken.retry_ms).toBeGreaterThanOrEqual(1);
      this.#compare(account, taken.statuses);
      return;
    }
    const { reservation } = taken;
    if (!force) expect(before.filter(({ mustRefuse }) => mustRefuse)).toEqual([]);
    for (const { limit, mustRefuse, mayRefuse } of before) {
      const isOver = reservation.over.includes(limit);
      if (mustRefuse) expect([limit, isOver]).toEqual([limit, true]);
      if (isOver) expect([limit, mayRefuse]).toEqual([limit, true]);
    }
    const entries = wanted.map(limit => {
      const book = this.#book(account, limit);
      return { limit, book, entry: book.add({ at_ms: now_ms, amount: amountOf(limit, reserved) }) };
    });
    this.#open.push({ reservation, reserved, entries });
    this.#compare(account, taken.statuses);
  }

  async #settle(at: number, used: Charge): Promise<void> {
    const [{ reservation, reserved, entries }] = this.#open.splice(at, 1) as [Open];
    const now_ms = this.#setting.clock.epoch_ms();
    await this.#setting.settle(reservation, used);
    for (const { limit, book, entry } of entries) {
      const more =
        limit.name === 'concurrent_requests' ? -1 : amountOf(limit, used) - amountOf(limit, reserved);
      if (more > 0) book.add({ at_ms: now_ms, amount: more });
      else entry.amount += more;
    }
  }

  #compare(account: string, statuses: readonly LimitStatus[]): void {
    const now_ms = this.#setting.clock.epoch_ms();
    for (const { limit, remaining, reset_ms } of statuses) {
      const { least, most } = this.#book(account, limit).counted(now_ms);
      const room = (counted: number) => Math.max(0, limit.max - counted);
      expect([limit, remaining]).toEqual([limit, Math.min(Math.max(remaining, room(most)), room(least))]);
      if (least > 0 && limit.name !== 'concurrent_requests') expect(reset_ms).toBeGreaterThan(0);
      if (most === 0) expect([limit, reset_ms]).toEqual([limit, 0]);
    }
  }

  #book(account: string, limit: Limit): Book {
    const key = `${account} ${limit.name} ${limit.model} ${limit.key} ${limit.member}`;
    const book = this.#books.get(key) ?? new Book(limit, this.#setting.lease_ms);
    this.#books.set(key, book);
    return book;
  }

  async #statuses(account: string): Promise<readonly LimitStatus[]> {
    const id = this.#idOf(account);
    return this.#setting.store.statuses(id, limitsOf(id));
  }

  #idOf(account: string): string {
    return `${this.#name}-${account}`;
  }
}
