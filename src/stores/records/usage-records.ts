import { picoUsd, usdOf } from '../../money.ts';
import { type BudgetSum, budgetSums } from './budget-sums.ts';
import { type Connection, type Database, rowMarks } from './database.ts';
import type { LedgerRow } from './ledger-records.ts';
import { type RefusalCount, type RefusalQuery, type RefusalSum, refusals } from './refusals.ts';
import {
  columnsOf,
  type DailyKey,
  type FinestKey,
  finestOf,
  type MonthlyKey,
  type Slice,
  slicesFor,
  slicesOf,
} from './usage-slices.ts';

/** What usage can be told by. Days and months are those in which exchanges began, in UTC. */
export const usageGroups = ['account', 'model', 'day', 'month'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  readonly account?: string;
  readonly model?: string;
  /** `2026-11-20`; both inclusive. */
  readonly from_day?: string;
  readonly to_day?: string;
  /** One sum for each combination; a single sum of all without. */
  readonly by: readonly UsageGroup[];
  /** By group, or the most expensive first. */
  readonly order?: 'group' | 'cost';
  readonly limit?: number;
}

/** What exchanges add up to; the fields of the groups that were asked for are there. `model` is empty where none was named. */
export interface UsageSum {
  readonly account?: string;
  readonly model?: string;
  readonly day?: string;
  /** `2026-11`. */
  readonly month?: string;
  readonly requests: number;
  /** Answered with an error, whoever's fault. */
  readonly failed_requests: number;
  /** Whose tokens were estimated here and not told by the upstream. */
  readonly estimated_requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  /** A part of the prompt's. */
  readonly cached_tokens: number;
  /** A part of the completion's. */
  readonly reasoning_tokens: number;
  readonly cost_usd: string;
}

type Counts = Omit<UsageSum, UsageGroup | 'cost_usd'>;

const counted = [
  'requests',
  'failed_requests',
  'estimated_requests',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
] as const satisfies (keyof Counts)[];

/** Added in two parts: SQLite's sums end at nine million dollars otherwise. */
const micro = 1_000_000n;
const cost_micro_usd = `SUM(cost_pico_usd / ${micro})`;
const cost_rest = `SUM(cost_pico_usd % ${micro})`;
const sums = [
  ...counted.map(name => `SUM(${name}) AS ${name}`),
  `${cost_micro_usd} AS cost_micro_usd`,
  `${cost_rest} AS cost_rest`,
];
/** Exact in both databases, one of which divides integers and the other any number. */
const by_cost = `${cost_micro_usd} + ${cost_rest} / ${micro} DESC, ${cost_rest} % ${micro} DESC`;

/** Sums of the ledger, with what was refused before an upstream was asked. */
export class UsageRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** What was refused before an upstream was asked, by what is kept of it. */
  refusals(query: RefusalQuery): Promise<RefusalSum[]> {
    return refusals(this.#database, query);
  }

  /** What `accounts` have used of `day` and, until then, of its month. */
  budgets(accounts: readonly string[], day: string): Promise<BudgetSum[]> {
    return budgetSums(this.#database, accounts, day);
  }

  async sum(query: UsageQuery): Promise<UsageSum[]> {
    const { by, order, limit } = query;
    const slices = slicesFor(query);
    const groups = by.map(group => `${group}_group`).join(', ');
    const named = by.map(group => `${group}_group AS ${JSON.stringify(group)}`);
    // Whoever costs the same stands in the order of names, at every instance.
    const ordered = order === 'cost' ? `${by_cost}, ${groups}` : groups;
    const values = slices.flatMap(({ where }) => where.values);
    const rows = await this.#database.run<
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
  return `SELECT ${[...groups, ...columns].join(', ')} FROM ${table} ${where.sql}`;
}

/** One of the sums that are kept, while it is added up. */
type Kept = Record<keyof Counts, number> & { cost_pico_usd: bigint };

/** Adds rows of the ledger, and refusals that have none, to the sums that are kept. */
export async function rollUp(
  connection: Connection,
  rows: readonly LedgerRow[],
  refusals: readonly RefusalCount[],
): Promise<void> {
  const finest = new Sums<FinestKey>();
  for (const row of rows) addRow(finest.of(finestOf(row)), row);
  for (const refusal of refusals) addRefusal(finest.of(finestOf(refusal)), refusal);
  const daily = new Sums<DailyKey>();
  const monthly = new Sums<MonthlyKey>();
  for (const { key, sum } of finest.all()) {
    const slices = slicesOf(key);
    for (const slice of slices.daily) addSum(daily.of(slice), sum);
    addSum(monthly.of(slices.monthly), sum);
  }
  await addUp(connection, 'daily_sums', ['model', 'day', 'account'], daily);
  await addUp(connection, 'monthly_sums', ['month', 'account'], monthly);
}

interface NamedSum<K> {
  readonly name: string;
  readonly key: K;
  readonly sum: Kept;
}

/** Sums by key, made when they are first asked for. */
class Sums<K extends readonly (string | number)[]> {
  readonly #byName = new Map<string, NamedSum<K>>();

  of(key: K): Kept {
    const name = key.join('\n');
    let found = this.#byName.get(name);
    if (!found) this.#byName.set(name, (found = { name, key, sum: { ...nothing } }));
    return found.sum;
  }

  all(): NamedSum<K>[] {
    return [...this.#byName.values()];
  }
}

const columns = [...counted, 'cost_pico_usd'] as const;
const rows_per_statement = 1000;

/** In one order everywhere, so that instances do not wait for each other in a circle. */
async function addUp<K extends readonly string[]>(
  connection: Connection,
  table: Slice['table'],
  keys: readonly string[],
  sums: Sums<K>,
): Promise<void> {
  const ordered = sums.all().sort((a, b) => (a.name < b.name ? -1 : 1));
  for (let at = 0; at < ordered.length; at += rows_per_statement) {
    const slices = ordered.slice(at, at + rows_per_statement);
    await connection.run(
      `INSERT INTO ${table} (${[...keys, ...columns].join(', ')})
      VALUES ${rowMarks(slices.length, keys.length + columns.length)}
      ON CONFLICT (${keys.join(', ')}) DO UPDATE SET
      ${columns.map(name => `${name} = ${table}.${name} + excluded.${name}`).join(', ')}`,
      slices.flatMap(({ key, sum }) => [...key, ...columns.map(name => sum[name])]),
    );
  }
}

const nothing: Kept = {
  requests: 0,
  failed_requests: 0,
  estimated_requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_pico_usd: 0n,
};

function addRow(sum: Kept, row: LedgerRow): void {
  sum.requests++;
  if (row.error_type !== null || row.status >= 400) sum.failed_requests++;
  if (row.estimated) sum.estimated_requests++;
  sum.prompt_tokens += row.prompt_tokens;
  sum.completion_tokens += row.completion_tokens;
  sum.cached_tokens += row.cached_tokens;
  sum.reasoning_tokens += row.reasoning_tokens;
  sum.cost_pico_usd += picoUsd(row.cost_usd);
}

function addRefusal(sum: Kept, { requests, status, error_type }: RefusalCount): void {
  sum.requests += requests;
  if (error_type !== null || status >= 400) sum.failed_requests += requests;
}

function addSum(sum: Kept, other: Kept): void {
  for (const name of counted) sum[name] += other[name];
  sum.cost_pico_usd += other.cost_pico_usd;
}
