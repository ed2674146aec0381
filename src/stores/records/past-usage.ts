import type { Clock } from '../../clock.ts';
import { BatchedLookups } from '../accounts/batched-lookups.ts';
import type { DiskQueue } from '../ledger/disk-queue.ts';
import { type CalendarDay, calendarDayOf } from '../limits/calendar.ts';
import type { PastUse, PastUses } from '../limits/past-use.ts';
import type { UsageRecords } from './usage-records.ts';
import { all_models, dayOf } from './usage-slices.ts';

export interface PastUsageSetup {
  readonly usage: Pick<UsageRecords, 'budgets'>;
  /** Where rows of the ledger wait, if they do so on disk. */
  readonly disk: DiskQueue | undefined;
  readonly clock: Clock;
}

/** Each takes a millisecond with sums of a month in SQLite, where the ledger waits for it. */
const accounts_per_query = 25;

interface Used {
  tokens: number;
  nano_usd: number;
}

/**
 * What accounts have used of the present day and month: by the sums of the ledger, and by its rows that wait on disk. One indexed query for
 * all accounts that ask meanwhile, when their first request comes: of a million accounts only those that come are read.
 */
export class PastUsage implements PastUses {
  readonly #setup: PastUsageSetup;
  readonly #lookups = new BatchedLookups<PastUse>(accounts => this.#read(accounts), accounts_per_query);

  constructor(setup: PastUsageSetup) {
    this.#setup = setup;
  }

  find(account: string): Promise<PastUse> {
    return this.#lookups.find(account);
  }

  async #read(accounts: readonly string[]): Promise<PastUse[]> {
    const { usage, disk, clock } = this.#setup;
    const now_ms = clock.epoch_ms();
    const uses = new Map(accounts.map(account => [account, new Use(calendarDayOf(now_ms))]));
    const read = async () => {
      const waiting = disk?.exists ? await disk.budgets(accounts, dayOf(now_ms)) : [];
      const written = await usage.budgets(accounts, dayOf(now_ms));
      for (const { account, model, tokens, nano_usd } of [...waiting, ...written])
        uses.get(account)!.add(model, tokens, nano_usd);
    };
    // A row that is moved meanwhile would be counted twice, or not at all.
    await (disk ? disk.undisturbed(read) : read());
    return [...uses.values()];
  }
}

class Use implements PastUse {
  readonly day: number;
  readonly month: number;
  readonly #byModel = new Map<string, Used>();

  constructor({ day, month }: CalendarDay) {
    this.day = day;
    this.month = month;
  }

  add(model: string, tokens: number, nano_usd: number): void {
    const used = this.#byModel.get(model);
    if (!used) this.#byModel.set(model, { tokens, nano_usd });
    else {
      used.tokens += tokens;
      used.nano_usd += nano_usd;
    }
  }

  of({ name, model }: Parameters<PastUse['of']>[0]): number {
    const used = this.#byModel.get(model ?? all_models);
    return (name === 'tokens_per_day' ? used?.tokens : used?.nano_usd) ?? 0;
  }
}
