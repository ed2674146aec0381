import { usdOf } from '../../money.ts';
import { type BudgetSum, budgetSums } from './budget-sums.ts';
import { DatabaseRecords } from './database.ts';
import { type RefusalQuery, type RefusalSum, refusals } from './refusals.ts';
import { usageColumnNames } from './roll-up.ts';
import type { UsageGroup, UsageQuery, UsageSum } from './usage-query.ts';
import { columnsOf, type Slice, slicesFor } from './usage-slices.ts';

/** Added in two parts: SQLite's sums end at nine million dollars otherwise. */
const micro = 1_000_000n;
const cost_micro_usd = `SUM(cost_pico_usd / ${micro})`;
const cost_rest = `SUM(cost_pico_usd % ${micro})`;
const sums = [
  ...usageColumnNames.filter(name => name !== 'cost_pico_usd').map(name => `SUM(${name}) AS ${name}`),
  `${cost_micro_usd} AS cost_micro_usd`,
  `${cost_rest} AS cost_rest`,
];
/** Exact in both databases, one of which divides integers and the other any number. */
const by_cost = `${cost_micro_usd} + ${cost_rest} / ${micro} DESC, ${cost_rest} % ${micro} DESC`;

/** Sums of the ledger, with what was refused before an upstream was asked. */
export class UsageRecords extends DatabaseRecords {
  /** What was refused before an upstream was asked, by what is kept of it. */
  refusals(query: RefusalQuery): Promise<RefusalSum[]> {
    return refusals(this.database, query);
  }

  /** What `accounts` have used of `day` and, until then, of its month. */
  budgets(accounts: readonly string[], day: string): Promise<BudgetSum[]> {
    return budgetSums(this.database, accounts, day);
  }

  async sum(query: UsageQuery): Promise<UsageSum[]> {
    const { by, order, limit } = query;
    const slices = slicesFor(query);
    const groups = by.map(group => `${group}_group`).join(', ');
    const named = by.map(group => `${group}_group AS ${JSON.stringify(group)}`);
    // Groups of equal cost are in the order of their names, at every instance.
    const ordered = order === 'cost' ? `${by_cost}, ${groups}` : groups;
    const values = slices.flatMap(({ where }) => where.values);
    const rows = await this.database.run<
      Omit<UsageSum, 'cost_usd'> & { cost_micro_usd: number; cost_rest: number }
    >(
      `SELECT ${[...named, ...sums].join(', ')} FROM (${slices.map(slice => selected(slice, by)).join(' UNION ALL ')}) AS kept
      ${groups && `GROUP BY ${groups} ORDER BY ${ordered}`} ${limit === undefined ? '' : 'LIMIT ?'}`,
      limit === undefined ? values : [...values, limit],
    );
    // Without groups there is one row even where there is nothing to add.
    return rows
      .filter(({ requests }) => requests !== null)
      .map(({ cost_micro_usd, cost_rest, ...sum }) => ({
        ...sum,
        cost_usd: usdOf(BigInt(cost_micro_usd) * micro + BigInt(cost_rest)),
      }));
  }
}

/** What sums are kept of, and the groups, named apart from the columns. */
function selected({ table, where }: Slice, by: readonly UsageGroup[]): string {
  const groups = by.map(group => `${columnsOf[table][group]} AS ${group}_group`);
  return `SELECT ${[...groups, ...usageColumnNames].join(', ')} FROM ${table} ${where.sql}`;
}
