import {
  type AccountRecord,
  all_models,
  type Credit,
  type Database,
  exactNanoUsdOf,
  fieldsOfRule,
  type LimitRule,
  RecordRefused,
  rowMarks,
  usdOf,
} from '../../../src/store-plugin.ts';

/** Dollars that accounts have used at all times, rounded up to what limits count in. */
export async function usedUsd(database: Database, accounts: readonly string[]): Promise<string> {
  const [sum] = await database.run<{ nano_usd: number | null }>(
    `SELECT SUM((cost_pico_usd + 999) / 1000) AS nano_usd FROM sluice.total_sums
    WHERE key_id = '' AND model = ? AND account IN ${rowMarks(1, accounts.length)}`,
    [all_models, ...accounts],
  );
  return usdOfNano(sum?.nano_usd ?? 0);
}

/** The limits of an account with more credit. Throws RecordRefused. */
export function credited(
  { limits, plan }: AccountRecord,
  { amount_usd, ofPlan }: Credit,
  used_usd: string,
): AccountRecord['limits'] {
  const rule = (limits.usd_total as LimitRule | null | undefined) ?? ofPlan(plan) ?? used_usd;
  const [added = 0, before] = [amount_usd, fieldsOfRule(rule).limit].map(exactNanoUsdOf);
  const sum = added + (before ?? Number.NaN);
  if (added <= 0 || !Number.isSafeInteger(sum))
    throw new RecordRefused(
      'a credit is an amount of dollars above 0 with at most 9 decimal places',
      'amount_usd',
    );
  const limit = usdOfNano(sum);
  return { ...limits, usd_total: typeof rule === 'object' ? { ...rule, limit } : limit };
}

const usdOfNano = (nano_usd: number): string => usdOf(BigInt(nano_usd) * 1000n);
