import { Condition } from './condition.ts';
import { type Connection, type Database, rowMarks } from './database.ts';
import type { LedgerRow } from './ledger-records.ts';
import { picoUsd, usdOf } from './pico-usd.ts';

/** What usage can be told by. Days are those on which exchanges began, in UTC. */
export const usageGroups = ['account', 'model', 'day'] as const;
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
const sums = [
  ...counted.map(name => `SUM(${name}) AS ${name}`),
  `SUM(cost_pico_usd / ${micro}) AS cost_micro_usd`,
  `SUM(cost_pico_usd % ${micro}) AS cost_rest`,
];

/** Sums of the ledger, from the daily ones that are kept beside it. */
export class UsageRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async sum({ account, model, from_day, to_day, by, order, limit }: UsageQuery): Promise<UsageSum[]> {
    const where = new Condition()
      .and('account = ?', account)
      .and('model = ?', model)
      .and('day >= ?', from_day)
      .and('day <= ?', to_day);
    const groups = by.join(', ');
    const ordered = order === 'cost' ? 'cost_micro_usd DESC' : groups;
    const rows = await this.#database.run<
      Omit<UsageSum, 'cost_usd'> & { cost_micro_usd: number; cost_rest: number }
    >(
      `SELECT ${[...by, ...sums].join(', ')} FROM usage_daily ${where.sql}
      ${groups && `GROUP BY ${groups} ORDER BY ${ordered}`} ${limit === undefined ? '' : 'LIMIT ?'}`,
      limit === undefined ? where.values : [...where.values, limit],
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

/** One row of the daily sums, while it is added up. */
type Daily = Record<keyof Counts, number> & { cost_pico_usd: bigint };

/** Adds rows of the ledger to the daily sums. */
export async function rollUp(connection: Connection, rows: readonly LedgerRow[]): Promise<void> {
  const daily = new Map<string, { key: readonly string[]; sums: Daily }>();
  for (const row of rows) {
    const key = [row.account, new Date(row.started_ms).toISOString().slice(0, 10), row.model ?? ''];
    const name = key.join('\n');
    let found = daily.get(name);
    if (!found) daily.set(name, (found = { key, sums: { ...nothing } }));
    add(found.sums, row);
  }
  if (daily.size === 0) return;
  // In one order everywhere, so that instances do not wait for each other in a circle.
  const ordered = [...daily].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  const columns = [...counted, 'cost_pico_usd'] as const;
  await connection.run(
    `INSERT INTO usage_daily (account, day, model, ${columns.join(', ')})
    VALUES ${rowMarks(ordered.length, 3 + columns.length)}
    ON CONFLICT (account, day, model) DO UPDATE SET
    ${columns.map(name => `${name} = usage_daily.${name} + excluded.${name}`).join(', ')}`,
    ordered.flatMap(({ key, sums: own }) => [...key, ...columns.map(name => own[name])]),
  );
}

const nothing: Daily = {
  requests: 0,
  failed_requests: 0,
  estimated_requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_pico_usd: 0n,
};

function add(sums: Daily, row: LedgerRow): void {
  sums.requests++;
  if (row.error_type !== null || row.status >= 400) sums.failed_requests++;
  if (row.estimated) sums.estimated_requests++;
  sums.prompt_tokens += row.prompt_tokens;
  sums.completion_tokens += row.completion_tokens;
  sums.cached_tokens += row.cached_tokens;
  sums.reasoning_tokens += row.reasoning_tokens;
  sums.cost_pico_usd += picoUsd(row.cost_usd);
}
