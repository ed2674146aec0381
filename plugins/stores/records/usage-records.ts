import {
  type Database,
  errorClasses,
  type KeyUse,
  type RefusalSum,
  rowMarks,
  signedUsdOf,
  type UsageRecords,
  type UsageSum,
} from '../../../src/store-plugin.ts';
import { budgetSums } from './budget-sums.ts';
import { usageColumnNames } from './exchange-counts.ts';
import { Condition } from './statements.ts';
import { columnsOf, slicesFor } from './usage-slices.ts';

/** The columns that refusals are counted by. */
export const refusalKeys = 'day, account, key_id, model, status, error_type, end_reason';

/** Costs are added up in two parts: SQLite's sums end at nine million dollars otherwise. */
const micro = 1_000_000n;
const money = ['cost', 'paid', 'margin'] as const;
const microOf = (name: Money) => `SUM(${name}_pico_usd / ${micro})`;
const restOf = (name: Money) => `SUM(${name}_pico_usd % ${micro})`;
/** The two parts of a sum of money. */
export const partsOf = (name: Money) => [
  `${microOf(name)} AS ${name}_micro_usd`,
  `${restOf(name)} AS ${name}_rest`,
];
const costs = partsOf('cost');
const sums = [
  ...usageColumnNames.filter(name => !name.endsWith('_pico_usd')).map(name => `SUM(${name}) AS ${name}`),
  ...money.flatMap(partsOf),
];
/** Exact in SQLite, which divides integers, and in Postgres, which divides any number. */
const by_cost = `${microOf('cost')} + ${restOf('cost')} / ${micro} DESC, ${restOf('cost')} % ${micro} DESC`;
const orders = {
  cost: by_cost,
  tokens: 'SUM(prompt_tokens + completion_tokens) DESC',
  requests: 'SUM(requests) DESC',
};

type Money = (typeof money)[number];
type StoredMoney<Name extends Money> = Readonly<Record<`${Name}_${'micro_usd' | 'rest'}`, number>>;
type StoredSum = Omit<UsageSum, 'cost_usd' | 'paid_usd' | 'margin_usd'> & StoredMoney<Money>;
type StoredKeyUse = Omit<KeyUse, 'cost_usd'> & StoredMoney<'cost'>;

/** An amount from its two parts. */
export const usdFrom = (micro_usd: number, rest: number): string =>
  signedUsdOf(BigInt(micro_usd) * micro + BigInt(rest));

const keyCounts = ['requests', 'failed_requests', 'tokens', ...errorClasses];
const keySums = [...keyCounts.map(name => `SUM(${name}) AS ${name}`), ...costs].join(', ');

const keyUseOf = ({ cost_micro_usd, cost_rest, ...counts }: StoredKeyUse): KeyUse => ({
  ...counts,
  cost_usd: usdFrom(cost_micro_usd, cost_rest),
});

function usageSumOf(stored: StoredSum): UsageSum {
  const { cost_micro_usd, cost_rest, paid_micro_usd, paid_rest, margin_micro_usd, margin_rest, ...counts } =
    stored;
  const { paid_requests = 0, ...sum } = counts;
  const cost_usd = usdFrom(cost_micro_usd, cost_rest);
  if (paid_requests === 0) return { ...sum, cost_usd };
  const paid_usd = usdFrom(paid_micro_usd, paid_rest);
  return { ...sum, cost_usd, paid_requests, paid_usd, margin_usd: usdFrom(margin_micro_usd, margin_rest) };
}

/** Sums of the ledger, with what was refused before an upstream was asked. */
export const usageRecords = (database: Database): UsageRecords => ({
  refusals({ account, from_day, to_day, limit }) {
    const where = new Condition()
      .and('day >= ?', from_day)
      .and('day <= ?', to_day)
      .and('account = ?', account);
    return database.run<RefusalSum>(
      `SELECT ${refusalKeys}, requests FROM sluice.refusal_sums ${where.sql} ORDER BY requests DESC, ${refusalKeys} LIMIT ?`,
      [...where.values, limit],
    );
  },

  ...budgetSums(database),

  async ofKeys(ids, from_day) {
    if (ids.length === 0) return new Map();
    const rows = await database.run<StoredKeyUse & { key_id: string }>(
      `SELECT key_id, ${keySums} FROM sluice.key_sums
      WHERE key_id IN ${rowMarks(1, ids.length)} AND day >= ? GROUP BY key_id`,
      [...ids, from_day],
    );
    return new Map(rows.map(({ key_id, ...use }) => [key_id, keyUseOf(use)]));
  },

  async ofKeyByDay(id, from_day) {
    const rows = await database.run<StoredKeyUse & { day: string }>(
      `SELECT day, ${keySums} FROM sluice.key_sums WHERE key_id = ? AND day >= ? GROUP BY day ORDER BY day`,
      [id, from_day],
    );
    return new Map(rows.map(({ day, ...use }) => [day, keyUseOf(use)]));
  },

  async detailedSince() {
    const [first] = await database.run<{ providers: string | null; hours: string | null }>(
      'SELECT (SELECT MIN(day) FROM sluice.provider_sums) AS providers, (SELECT MIN(hour) FROM sluice.hourly_sums) AS hours',
    );
    return { providers: first?.providers ?? undefined, hours: first?.hours?.slice(0, 10) };
  },

  async sum(query) {
    const { by, order = 'group', limit, among } = query;
    const slices = slicesFor(query);
    // Named apart from the columns.
    const groups = by.map(group => `${group}_group`).join(', ');
    const named = by.map(group => `${group}_group AS ${JSON.stringify(group)}`);
    const kept = slices.map(({ table, where }) => {
      if (among)
        where.and(`${columnsOf[table][among.group]} IN ${rowMarks(1, among.names.length)}`, ...among.names);
      const ofTable = by.map(group => `${columnsOf[table][group]} AS ${group}_group`);
      return `SELECT ${[...ofTable, ...usageColumnNames].join(', ')} FROM sluice.${table} ${where.sql}`;
    });
    // Equal groups are in the order of their names, at every instance.
    const ordered = order === 'group' ? groups : `${orders[order]}, ${groups}`;
    const values = slices.flatMap(({ where }) => where.values);
    const rows = await database.run<StoredSum>(
      `SELECT ${[...named, ...sums].join(', ')} FROM (${kept.join(' UNION ALL ')}) AS kept
      ${groups && `GROUP BY ${groups} ORDER BY ${ordered}`} ${limit === undefined ? '' : 'LIMIT ?'}`,
      limit === undefined ? values : [...values, limit],
    );
    // Without groups there is one row even where there is nothing to add.
    return rows.filter(({ requests }) => requests !== null).map(usageSumOf);
  },
});
