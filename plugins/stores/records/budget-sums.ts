import {
  all_models,
  type BudgetSum,
  type Database,
  day_ms,
  dayOf,
  hour_ms,
  hourOf,
  rowMarks,
  type UsageRecords,
} from '../../../src/store-plugin.ts';
import { Condition } from './statements.ts';

/** A table of sums, and which of its rows are those of the owners. */
interface Sums {
  readonly table: 'daily_sums' | 'key_sums' | 'hourly_sums' | 'total_sums';
  readonly owner: 'account' | 'key_id';
  /** Column, or expression. */
  readonly model: string;
  readonly tokens: string;
  readonly where: Condition;
}

/** By what times the rows of a table are told apart: of days or hours, the earliest first. */
interface Starts {
  readonly column: 'day' | 'hour';
  readonly starts: readonly string[];
}

const tokens = 'prompt_tokens + completion_tokens';
const ofAll = `'${all_models}'`;
const among = (column: string, names: readonly string[], where = new Condition()) =>
  where.and(`${column} IN ${rowMarks(1, names.length)}`, ...names);

/** What accounts and keys have used since some times: see `UsageRecords`. */
export const budgetSums = (database: Database): Pick<UsageRecords, 'budgets' | 'budgetsOfKeys'> => ({
  async budgets(accounts, since_ms) {
    const of = (table: Sums['table'], where = new Condition()): Sums => {
      return { table, owner: 'account', model: 'model', tokens, where: among('account', accounts, where) };
    };
    const ever = of('total_sums', new Condition().and('key_id = ?', ''));
    const hourly = of('hourly_sums');
    const [sums, byHour] = await sumsOf(database, since_ms, [
      { ...ever, tokens: 'tokens' },
      of('daily_sums'),
      hourly,
    ]);
    return [...sums, ...byHour, ...byHour.map(sum => ({ ...sum, model: all_models }))];
  },

  async budgetsOfKeys(keys, since_ms) {
    const of = (table: Sums['table']): Sums => {
      return { table, owner: 'key_id', model: ofAll, tokens: 'tokens', where: among('key_id', keys) };
    };
    const hourly = { ...of('hourly_sums'), tokens };
    // Sums by the hour are found by accounts.
    const marks = rowMarks(1, keys.length);
    hourly.where.and(`account IN (SELECT account FROM sluice.total_sums WHERE key_id IN ${marks})`, ...keys);
    return (await sumsOf(database, since_ms, [of('total_sums'), of('key_sums'), hourly])).flat();
  },
});

/** Since 0 by `ever`; of later times whole days by `daily`, and by `hourly` the days in which one of the times is. */
async function sumsOf(
  database: Database,
  since_ms: readonly number[],
  [ever, daily, hourly]: readonly [Sums, Sums, Sums],
): Promise<[BudgetSum[], BudgetSum[]]> {
  const times = since_ms.filter(time_ms => time_ms > 0);
  const isEver = times.length < since_ms.length;
  const offset = isEver ? 1 : 0;
  const read = (sums: Sums, starts?: Starts) => database.run<BudgetSum>(...statement(sums, starts));
  const placed = (sums: readonly BudgetSum[]) => sums.map(sum => ({ ...sum, since: sum.since + offset }));
  const found = isEver ? await read(ever) : [];
  if (times.length === 0) return [found, []];
  const days = times.map(dayOf);
  const split = [...new Set(times.filter(time_ms => time_ms % day_ms > 0).map(dayOf))];
  daily.where.and('day >= ?', days[0]);
  if (split.length > 0) daily.where.and(`day NOT IN ${rowMarks(1, split.length)}`, ...split);
  const byDay = await read(daily, { column: 'day', starts: days });
  if (split.length === 0) return [[...found, ...placed(byDay)], []];
  const starts = times.map(hourOf);
  among(
    'hour',
    split.flatMap(hoursOf).filter(hour => hour >= starts[0]!),
    hourly.where,
  );
  return [[...found, ...placed(byDay)], placed(await read(hourly, { column: 'hour', starts }))];
}

/** Costs are rounded up in every row. */
function statement(sums: Sums, of?: Starts): [sql: string, values: Condition['values']] {
  const { table, owner, model, tokens, where } = sums;
  const later = of?.starts.slice(1) ?? [];
  const cases = later.map((_, at) => `WHEN ${of?.column} < ? THEN ${at}`).join(' ');
  const since = cases && `CASE ${cases} ELSE ${later.length} END`;
  const sql = `SELECT ${owner} AS owner, ${model} AS model, ${since || 0} AS since,
    SUM(requests - failed_requests) AS requests, SUM(${tokens}) AS tokens, SUM((cost_pico_usd + 999) / 1000) AS nano_usd
    FROM sluice.${table} ${where.sql} GROUP BY 1, 2, 3`;
  return [sql, [...later, ...where.values]];
}

const hoursOf = (day: string): string[] =>
  Array.from({ length: 24 }, (_, hour) => hourOf(Date.parse(day) + hour * hour_ms));
