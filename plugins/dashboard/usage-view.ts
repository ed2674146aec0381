import { day_ms, dayOf, isDay, isTagGroup, no_model as none, type TagGroup } from '../../src/plugin.ts';
import type { PageRequest } from './page-request.ts';
import type { Scope } from './scope.ts';
import { type MeasureName, measuresFor } from './usage-measures.ts';
import { linkOf } from './view/format.ts';

/** What usage is narrowed to, and grouped by. */
export type FilterName = 'account' | 'model' | 'key' | 'provider' | TagGroup;
/** What a line of usage stands for; `time` are hours, days or months, as the time is long. */
export type Grouping = FilterName | 'time';

/** What is shown of usage, as the address says. Days are in UTC and both inclusive, as for `sluice usage`. */
export interface UsageView {
  readonly from_day: string;
  readonly to_day: string;
  /** The time's name, if it has one. */
  readonly preset: PresetName | undefined;
  /** What it is narrowed to, in the order in which it was; empty for requests without one. Of customers without their account. */
  readonly filters: ReadonlyMap<FilterName, string>;
  readonly group: Grouping;
  readonly measure: MeasureName;
  /** Names of tags that keys may have. */
  readonly tags: readonly TagGroup[];
  readonly scope: Scope;
}

/** Reads the address. What it does not have, or what cannot be shown, is as if it were left out; `fault` says what is wrong with it. */
export function usageView({ context, query, scope }: PageRequest): { view: UsageView; fault?: string } {
  const now_ms = context.clock.epoch_ms();
  const tags = scope.sees.internals ? Object.keys(context.settings.tags ?? {}) : [];
  const all = { tags: tags.map((name): TagGroup => `tag:${name}`), scope };
  const measures = measuresFor(scope);
  const base = {
    ...all,
    filters: filtersIn(query, namesFor(all)),
    measure: measures.find(name => name === query.get('show')) ?? measures[0]!,
  };
  const { fault, ...time } = timeIn(query, now_ms);
  const [filters, unclear] = withAccount(base);
  const groups = groupsOf({ ...base, filters });
  const group = groups.find(name => name === query.get('by')) ?? groups[0]!;
  const said = fault ?? unclear;
  return { view: { ...base, ...time, filters, group }, ...(said !== undefined && { fault: said }) };
}

/** What the reader may narrow usage to. */
const namesFor = ({ scope, tags }: Pick<UsageView, 'scope' | 'tags'>): readonly FilterName[] => [
  ...(scope.account ? [] : ['account' as const]),
  'model',
  'key',
  ...(scope.sees.internals ? ['provider' as const] : []),
  ...tags,
];

/** The filters of an address, without NUL, which Postgres rejects and no account or model has. */
function filtersIn(query: URLSearchParams, names: readonly FilterName[]): Map<FilterName, string> {
  const filters = new Map<FilterName, string>();
  for (const [field, text] of query) {
    const name = names.find(one => one === field);
    const value = text.trim().replaceAll('\0', '\ufffd');
    if (name && value && !filters.has(name)) filters.set(name, value === none ? '' : value);
  }
  return filters;
}

/** Sums by key are found by account. */
const isOfKeys = (name: Grouping): boolean => name === 'key' || isTagGroup(name);

function withAccount({
  scope,
  filters,
}: Pick<UsageView, 'scope' | 'filters'>): [UsageView['filters'], string?] {
  if (scope.account || filters.has('account') || ![...filters.keys()].some(isOfKeys)) return [filters];
  const kept = new Map([...filters].filter(([name]) => !isOfKeys(name)));
  return [kept, 'Choose the account of the key as well.'];
}

/** Whose usage it is; undefined for all. */
export const accountOf = ({ scope, filters }: Pick<UsageView, 'scope' | 'filters'>): string | undefined =>
  scope.account?.id ?? filters.get('account');

/** By what it can be grouped, the one that says most first: by what it is not narrowed to, and of which there are sums. */
export function groupsOf(view: Pick<UsageView, 'scope' | 'filters' | 'tags'>): readonly Grouping[] {
  const { filters } = view;
  const isKept = (name: FilterName): boolean => {
    if (isOfKeys(name)) return accountOf(view) !== undefined && !(filters.has('key') && name !== 'key');
    return name !== 'account' || !filters.has('provider');
  };
  return [...namesFor(view).filter(name => !filters.has(name) && isKept(name)), 'time'];
}

/** Whether these sums are kept for a shorter time than the others. */
export const isDetailed = ({ group, filters }: UsageView): boolean =>
  [group, ...filters.keys()].some(name => name === 'provider' || isOfKeys(name));

type Days = readonly [first: string, last: string];

/** Times that are chosen by name, and move on with the calendar. */
export const presets = {
  today: { title: 'Today', days: (now_ms: number) => lastDays(now_ms, 1) },
  yesterday: { title: 'Yesterday', days: (now_ms: number) => lastDays(now_ms - day_ms, 1) },
  '7d': { title: '7 days', days: (now_ms: number) => lastDays(now_ms, 7) },
  '30d': { title: '30 days', days: (now_ms: number) => lastDays(now_ms, 30) },
  '90d': { title: '90 days', days: (now_ms: number) => lastDays(now_ms, 90) },
  month: { title: 'This month', days: (now_ms: number): Days => [firstOfMonth(now_ms), dayOf(now_ms)] },
  'last-month': {
    title: 'Last month',
    days: (now_ms: number): Days => {
      const last_ms = Date.parse(firstOfMonth(now_ms)) - day_ms;
      return [firstOfMonth(last_ms), dayOf(last_ms)];
    },
  },
} as const satisfies Record<string, { title: string; days: (now_ms: number) => Days }>;
export type PresetName = keyof typeof presets;

const lastDays = (now_ms: number, days: number): Days => [dayOf(now_ms - (days - 1) * day_ms), dayOf(now_ms)];
const firstOfMonth = (epoch_ms: number): string => `${dayOf(epoch_ms).slice(0, 8)}01`;

/** The time of an address: a name, or days; the current month without either, and where they make no sense. */
function timeIn(query: URLSearchParams, now_ms: number) {
  const name = query.get('time') ?? '';
  const [from, to] = [query.get('from'), query.get('to')];
  const [first, today] = presets.month.days(now_ms);
  const preset = Object.hasOwn(presets, name) ? (name as PresetName) : from || to ? undefined : 'month';
  if (preset) {
    const [from_day, to_day] = presets[preset].days(now_ms);
    return { from_day, to_day, preset };
  }
  const from_day = from || first;
  const to_day = to || [today, from_day].sort()[1]!;
  const fault = faultOf(from_day, to_day);
  return fault === undefined
    ? { from_day, to_day, preset }
    : { from_day: first, to_day: today, preset, fault };
}

function faultOf(from_day: string, to_day: string): string | undefined {
  const wrong = [from_day, to_day].find(text => !isDay(text));
  if (wrong !== undefined) return `“${wrong.slice(0, 40)}” is no day such as 2026-11-20.`;
  return from_day > to_day ? `The first day, ${from_day}, is after the last, ${to_day}.` : undefined;
}

/** The filters as fields of an address. */
export const fieldsOf = ({ filters }: Pick<UsageView, 'filters'>): Readonly<Record<string, string>> =>
  Object.fromEntries([...filters].map(([name, value]) => [name, value || none]));

/** The page with something else chosen and all the rest as it is; what cannot be grouped so is grouped by what says most. */
export function viewLink(before: UsageView, change: Partial<UsageView>): string {
  const view = { ...before, ...change };
  const { from_day: from, to_day: to, preset, group, measure } = view;
  const groups = groupsOf(view);
  const by = groups.includes(group) ? group : groups[0]!;
  return linkOf('usage', {
    ...(preset ? { time: preset } : { from, to }),
    ...fieldsOf(view),
    by,
    show: measure,
  });
}

/** The page narrowed to one name of the group, and grouped by what says most of that. */
export const drillLink = (view: UsageView, name: string): string =>
  viewLink(view, { filters: new Map([...view.filters, [view.group as FilterName, name]]) });

/** The page for other days. */
export const daysLink = (view: UsageView, from_day: string, to_day: string): string =>
  viewLink(view, { preset: undefined, from_day, to_day });

/** Usage as a file. */
export const exportLink = (view: UsageView, by: readonly string[]): string =>
  linkOf('usage-csv', { from: view.from_day, to: view.to_day, ...fieldsOf(view) }) +
  by.map(group => `&by=${encodeURIComponent(group)}`).join('');
