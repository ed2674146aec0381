import type { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';

/** Budgets of a month, in LiteLLM's words. */
const months = ['30d', '31d', '1mo', '1m', 'monthly'];

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
  if (!months.includes(String(duration))) {
    findings.lost(
      path,
      `budgets are those of a calendar month here: set usd_per_month in place of one for ${duration === undefined ? 'good' : String(duration).slice(0, 20)}`,
    );
    return {};
  }
  findings.check(path, 'is for a calendar month in UTC here, and begins anew');
  return { usd_per_month: Number(usd.toFixed(9)) };
}
