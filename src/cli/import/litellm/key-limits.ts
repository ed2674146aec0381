import type { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';

/** Limits by the duration of a budget, in LiteLLM's words. */
const windows: Readonly<Record<string, readonly string[]>> = {
  usd_per_day: ['1d', '24h', 'daily'],
  usd_per_week: ['7d', '1w', 'weekly'],
  usd_per_month: ['30d', '31d', '1mo', 'monthly'],
};
/** What is left where all is used: a limit is above 0. */
const least_usd = 1e-6;

/** The limits of a key, a team or a user. */
export function limitsOf(row: Fields, findings: Findings): Readonly<Record<string, number>> {
  const counts = {
    requests_per_minute: row.count('rpm_limit'),
    tokens_per_minute: row.count('tpm_limit'),
    concurrent_requests: row.count('max_parallel_requests'),
    ...budgetOf(row, findings),
  };
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== undefined)) as Record<
    string,
    number
  >;
}

function budgetOf(row: Fields, findings: Findings): Readonly<Record<string, number | undefined>> {
  const usd = row.number('max_budget');
  const duration = row.value('budget_duration');
  const path = [...row.path, 'max_budget'];
  if (usd === undefined) return {};
  if (duration === undefined) {
    findings.check(path, 'is for good: the limit has what was left, as credit');
    return { usd_total: amountOf(usd - (row.number('spend') ?? 0)) };
  }
  const limit = Object.keys(windows).find(name =>
    windows[name]!.includes(typeof duration === 'string' ? duration : ''),
  );
  if (limit === undefined) {
    findings.lost(path, 'budgets are for days, weeks and months of the calendar, or for good');
    return {};
  }
  findings.check(path, 'is for a day, week or month of the calendar in UTC, and begins anew');
  return { [limit]: amountOf(usd) };
}

const amountOf = (usd: number): number => Number(Math.max(usd, least_usd).toFixed(6));
