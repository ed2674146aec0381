import {
  type Account,
  type DialectGateway,
  day_ms,
  dayOf,
  hours_ms,
  invalidField,
  isDay,
  type Totals,
  totalOf,
  type UsageSum,
} from '../../../src/plugin.ts';

/** What customers may have their usage by. */
const groups = ['day', 'model', 'key'] as const;
type Group = (typeof groups)[number];

/** Days of one answer, and its lines. */
export const max_days = 366;
export const max_lines = 5000;

interface Question {
  readonly from_day: string;
  readonly to_day: string;
  readonly by: readonly Group[];
}

/** What the account has used: `from` and `to` are days in UTC, by default those of the current month, and `by` is repeated or divided by commas. */
export async function usageAnswer(
  { usage, keys, clock }: DialectGateway,
  { id }: Account,
  query: URLSearchParams,
) {
  const { by, ...days } = questionOf(query, clock.epoch_ms());
  const sums = await usage.sum({ ...days, account: id, by, limit: max_lines + 1 });
  if (sums.length > max_lines)
    throw invalidField('from', `the answer would have more than ${max_lines} lines; ask for fewer days.`);
  const ids = by.includes('key') ? [...new Set(sums.flatMap(({ key }) => key || []))] : [];
  const names = new Map((await keys.named(ids)).map(({ id, name }) => [id, name]));
  return {
    object: 'list',
    from: days.from_day,
    to: days.to_day,
    data: by.length === 0 ? [] : sums.map(sum => ({ ...groupsOf(sum, by, names), ...counted(sum) })),
    total: counted(totalOf(sums)),
  };
}

/** The groups of a line; `null` for a request without a model, or by a key that is not in the store. */
const groupsOf = (sum: UsageSum, by: readonly Group[], names: ReadonlyMap<string, string>) => ({
  ...Object.fromEntries(by.map(group => [group, sum[group] || null])),
  ...(by.includes('key') && { key_name: names.get(sum.key ?? '') ?? null }),
});

const counted = (sum: Totals) => ({
  requests: sum.requests,
  failed_requests: sum.failed_requests,
  prompt_tokens: sum.prompt_tokens,
  cached_tokens: sum.cached_tokens,
  completion_tokens: sum.completion_tokens,
  reasoning_tokens: sum.reasoning_tokens,
  cost_usd: sum.cost_usd,
});

function questionOf(query: URLSearchParams, now_ms: number): Question {
  const today = dayOf(now_ms);
  const unknown = [...query.keys()].find(name => !['from', 'to', 'by'].includes(name));
  if (unknown !== undefined)
    throw invalidField(unknown.slice(0, 100), 'is unknown here; there are from, to, by.');
  const from_day = dayIn(query, 'from') ?? `${today.slice(0, 8)}01`;
  const to_day = dayIn(query, 'to') ?? [from_day, today].sort()[1]!;
  if (from_day > to_day) throw invalidField('from', 'must not be after to.');
  if (Date.parse(to_day) - Date.parse(from_day) >= max_days * day_ms)
    throw invalidField('from', `must be at most ${max_days} days before to.`);
  const by = groupsIn(query);
  // Older sums do not tell keys apart any longer.
  if (by.includes('key') && Date.parse(from_day) < now_ms - hours_ms)
    throw invalidField('from', `must be at most ${hours_ms / day_ms} days ago for usage by key.`);
  return { from_day, to_day, by };
}

function dayIn(query: URLSearchParams, name: string): string | undefined {
  const day = query.get(name);
  if (day === null || isDay(day)) return day ?? undefined;
  throw invalidField(name, 'must be a day in UTC, such as 2026-11-20.');
}

function groupsIn(query: URLSearchParams): readonly Group[] {
  const named = query.getAll('by').flatMap(text => text.split(','));
  const unknown = named.some(name => !groups.some(group => group === name));
  if (unknown) throw invalidField('by', `must be among ${groups.join(', ')}.`);
  return groups.filter(group => named.includes(group));
}
