import { isDay, lastDayOf } from '../common/calendar-day.ts';
import { picoUsd, usdOf } from '../common/money.ts';
import type { KeyRecords } from './key-records.ts';
import { namedKeys } from './named-keys.ts';
import { RecordRefused } from './record-errors.ts';
import { no_model } from './usage-columns.ts';
import type { UsageRecords, UsageSum } from './usage-records.ts';
import { type Totals, totalOf, without } from './usage-total.ts';

/** What an account has used of one model by one key. */
export interface StatementLine extends Totals {
  /** Id of the account. */
  readonly account: string;
  /** Id of the model; empty for none. */
  readonly model: string;
  /** Id of the key; empty for those that are not in the store, and where the store no longer tells them apart. */
  readonly key: string;
  /** Its name. */
  readonly key_name: string;
}

/** What was used in a month, in UTC, at the prices of the catalog at the time. */
export interface Statement {
  /** The month, such as `2026-10`. */
  readonly month: string;
  /** Its first day. */
  readonly from_day: string;
  /** Its last day. */
  readonly to_day: string;
  /** By account, model and key. */
  readonly lines: readonly StatementLine[];
  /** What they add up to: exactly what the ledger has of the month. */
  readonly total: Totals;
  /** Decimals of its costs, the same for all: two at least, and as many as the longest has. */
  readonly decimals: number;
}

/** A column of statements. */
export interface StatementColumn {
  /** Its title. */
  readonly title: string;
  /** Its cells. */
  readonly value: (line: StatementLine) => string | number;
  /** True for numbers. */
  readonly isNumber?: boolean;
}

/** Whether `text` is a month such as `2026-10`. */
export const isMonth = (text: string): boolean => isDay(`${text}-01`);

/** Lines of a statement that is made in memory of a server. */
export const max_statement_lines = 50_000;

/** The statement of one account, or of all of them. Rejects with RecordRefused if it would have more than `max_lines`. */
export async function statementOf(
  store: { readonly usage: Pick<UsageRecords, 'sum'>; readonly keys: Pick<KeyRecords, 'named'> },
  month: string,
  account?: string,
  max_lines?: number,
): Promise<Statement> {
  const days = { from_day: `${month}-01`, to_day: lastDayOf(month) };
  const groups = account === undefined ? (['account', 'model'] as const) : (['model'] as const);
  // The parts first, so that none of them is more than the whole.
  const limit = max_lines === undefined ? {} : { limit: max_lines + 1 };
  const byKey = await store.usage.sum({ ...days, account, by: [...groups, 'key'], ...limit });
  const whole = await store.usage.sum({ ...days, account, by: groups, ...limit });
  if (max_lines !== undefined && Math.max(byKey.length, whole.length) > max_lines)
    throw new RecordRefused(`the statement has more than ${max_lines} lines`);
  const ofKeys = byKey.filter(({ key }) => key !== '');
  const keys = await namedKeys(store.keys, [...new Set(ofKeys.map(({ key }) => key!))]);
  const partsOf = Map.groupBy(ofKeys, nameOf);
  const lines = whole.flatMap(sum => {
    const parts = partsOf.get(nameOf(sum)) ?? [];
    const named = { account: sum.account ?? account!, model: sum.model! };
    const line = (of: Totals, key: string) => ({ ...of, ...named, key, key_name: keys.get(key)?.name ?? '' });
    const rest = without(totalOf([sum]), totalOf(parts));
    return [...(rest.requests > 0 ? [line(rest, '')] : []), ...parts.map(part => line(part, part.key!))];
  });
  const decimals = lines.reduce(
    (most, { cost_usd }) => Math.max(most, cost_usd.split('.')[1]?.length ?? 0),
    2,
  );
  return { month, ...days, lines, total: totalOf(whole), decimals };
}

const nameOf = ({ account, model }: UsageSum): string => JSON.stringify([account, model]);

/** Dollars with so many decimals, of which no more are needed. */
export function fixedUsd(usd: string, decimals: number): string {
  const [whole, fraction = ''] = usdOf(picoUsd(usd)).split('.');
  return `${whole}.${fraction.padEnd(decimals, '0')}`;
}

/** What a statement has in its columns; without costs for those who see no money. */
export const statementColumns = (
  { month, decimals }: Pick<Statement, 'month' | 'decimals'>,
  hasCost = true,
): StatementColumn[] => [
  { title: 'month', value: () => month },
  { title: 'account', value: ({ account }) => account },
  { title: 'model', value: ({ model }) => model || no_model },
  { title: 'key', value: ({ key }) => key },
  { title: 'key_name', value: ({ key_name }) => key_name },
  ...counts.map(([title, name]) => ({ title, value: (line: StatementLine) => line[name], isNumber: true })),
  ...(hasCost
    ? [
        {
          title: 'cost_usd',
          value: ({ cost_usd }: StatementLine) => fixedUsd(cost_usd, decimals),
          isNumber: true,
        },
      ]
    : []),
];

const counts = [
  ['requests', 'requests'],
  ['errors', 'failed_requests'],
  ['prompt_tokens', 'prompt_tokens'],
  ['cached_tokens', 'cached_tokens'],
  ['completion_tokens', 'completion_tokens'],
  ['reasoning_tokens', 'reasoning_tokens'],
] as const;
