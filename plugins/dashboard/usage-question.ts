import { day_ms, dayOf, isDay, no_model as none } from '../../src/plugin.ts';
import type { PageRequest } from './page-request.ts';
import { PageError } from './page-response.ts';

/** A query of the ledger. Days are in UTC and both inclusive, as for `sluice usage`. */
export interface UsageQuestion {
  readonly from_day: string;
  readonly to_day: string;
  readonly account: string | undefined;
  /** Empty for exchanges that named no model. */
  readonly model: string | undefined;
  /** Empty for exchanges that reached none. */
  readonly provider?: string | undefined;
  /** The id of a key of `account`; empty for keys that are not in the store. */
  readonly key?: string | undefined;
}

/**
 * Parses a page's query, of customers about their own account whatever it names; without days, the current month. If it is invalid, `fault`
 * says why, and the current month is used.
 */
export function usageQuestion({ context, query, scope }: PageRequest): {
  readonly question: UsageQuestion;
  readonly fault?: string;
} {
  const now_ms = context.clock.epoch_ms();
  const today = dayOf(now_ms);
  const account = scope.account?.id ?? textOf(query, 'account');
  const named = (name: string) => (textOf(query, name) === none ? '' : textOf(query, name));
  const provider = scope.sees.internals ? named('provider') : undefined;
  const filters = { account, model: named('model'), provider, key: named('key') };
  const preset = presetOf(query);
  const [first, last] = presets[preset ?? 'month'].days(now_ms);
  const from_day = (preset === undefined && query.get('from')) || first;
  const to_day = (preset === undefined && query.get('to')) || (preset ? last : [today, from_day].sort()[1]!);
  const fault = faultOf(from_day, to_day);
  if (fault !== undefined) return { question: { from_day: first, to_day: today, ...filters }, fault };
  const question = { from_day, to_day, ...filters };
  if (filters.key === undefined || account !== undefined) return { question };
  return { question: { ...question, key: undefined }, fault: 'Choose the account of the key as well.' };
}

type Days = readonly [first: string, last: string];

/** Times that are chosen by name, and move on with the calendar. */
export const presets = {
  today: { title: 'Today', days: (now_ms: number) => lastDays(now_ms, 1) },
  yesterday: { title: 'Yesterday', days: (now_ms: number): Days => lastDays(now_ms - day_ms, 1) },
  '7d': { title: '7 days', days: (now_ms: number) => lastDays(now_ms, 7) },
  '30d': { title: '30 days', days: (now_ms: number) => lastDays(now_ms, 30) },
  '90d': { title: '90 days', days: (now_ms: number) => lastDays(now_ms, 90) },
  month: { title: 'This month', days: (now_ms: number): Days => [monthStart(now_ms), dayOf(now_ms)] },
  'last-month': {
    title: 'Last month',
    days: (now_ms: number): Days => {
      const last_ms = Date.parse(monthStart(now_ms)) - day_ms;
      return [monthStart(last_ms), dayOf(last_ms)];
    },
  },
} as const satisfies Record<string, { title: string; days: (now_ms: number) => Days }>;
export type PresetName = keyof typeof presets;

/** The preset that an address names, which also stands for none at all. */
export function presetOf(query: URLSearchParams): PresetName | undefined {
  const name = query.get('time') ?? '';
  if (Object.hasOwn(presets, name)) return name as PresetName;
  return query.get('from') || query.get('to') ? undefined : 'month';
}

const lastDays = (now_ms: number, days: number): Days => [dayOf(now_ms - (days - 1) * day_ms), dayOf(now_ms)];
const monthStart = (epoch_ms: number): string => `${dayOf(epoch_ms).slice(0, 8)}01`;

/** A field of a query without NUL, which Postgres rejects and no account or model has; undefined if empty. */
const textOf = (query: URLSearchParams, name: string): string | undefined =>
  query.get(name)?.trim().replaceAll('\0', '\ufffd') || undefined;

/** The groups that an export is asked for by, each once. Throws a PageError for any other. */
export function groupsIn<G extends string>(query: URLSearchParams, groups: readonly G[]): readonly G[] {
  // Each is a column: many of them would not fit into memory.
  return [...new Set(query.getAll('by'))].map(text => {
    const group = groups.find(name => name === text);
    if (group) return group;
    throw new PageError(422, `“${text}” is not a group of usage; there are: ${groups.join(', ')}.`);
  });
}

/** How many days it asks for. */
export const daysOf = ({ from_day, to_day }: Pick<UsageQuestion, 'from_day' | 'to_day'>): number =>
  Math.round((Date.parse(to_day) - Date.parse(from_day)) / day_ms) + 1;

/** The time of the same length before it. */
export function timeBefore(question: UsageQuestion): UsageQuestion {
  const first_ms = Date.parse(question.from_day);
  const from_day = dayOf(first_ms - daysOf(question) * day_ms);
  return { ...question, from_day, to_day: dayOf(first_ms - day_ms) };
}

function faultOf(from_day: string, to_day: string): string | undefined {
  const wrong = [from_day, to_day].find(text => !isDay(text));
  if (wrong !== undefined) return `“${wrong.slice(0, 40)}” is no day such as 2026-11-20.`;
  return from_day > to_day ? `The first day, ${from_day}, is after the last, ${to_day}.` : undefined;
}

/**
 * Extends a query that ends today or later to the end of the month, which has no entries yet: sums of whole months are answered from stored
 * sums.
 */
export function toMonthEnd(question: UsageQuestion, now_ms: number): UsageQuestion {
  const { to_day } = question;
  if (to_day < dayOf(now_ms)) return question;
  const [year, month] = to_day.split('-').map(Number) as [number, number];
  return { ...question, to_day: dayOf(Date.UTC(year, month, 0)) };
}
