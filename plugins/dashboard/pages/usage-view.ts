import { no_model as none, type UsageGroup, usageGroups } from '../../../src/plugin.ts';
import type { PageRequest } from '../page-request.ts';
import type { Scope } from '../scope.ts';
import { type PresetName, presetOf, type UsageQuestion, usageQuestion } from '../usage-question.ts';
import { linkOf } from '../view/format.ts';
import { type MeasureName, measureNames, measures } from './usage-chart.ts';

/** What the parts of a bar, and the lines of the table, stand for. */
export const chartGroups = ['model', 'account', 'provider', 'key'] as const;
export type ChartGroup = (typeof chartGroups)[number];

/** What the usage page shows, as its address says. */
export interface UsageView {
  readonly question: UsageQuestion;
  /** The time's name, if it has one. */
  readonly preset: PresetName | undefined;
  readonly group: ChartGroup;
  readonly measure: MeasureName;
  /** That of its reader. */
  readonly scope: Scope;
}

/** Reads the address of the usage page. What it does not have, or what cannot be shown, is as if it were left out. */
export function usageView(request: PageRequest): { view: UsageView; fault?: string } {
  const { query, scope } = request;
  const { question, fault } = usageQuestion(request);
  const group = chartGroups.find(name => name === query.get('by'));
  const view = {
    question,
    preset: fault === undefined ? presetOf(query) : undefined,
    group: group && isOffered(group, question, scope) ? group : 'model',
    measure: measuresFor(scope).find(name => name === query.get('show')) ?? 'tokens',
    scope,
  } as const;
  return { view, ...(fault !== undefined && { fault }) };
}

/** The measures of a reader. */
export const measuresFor = ({ sees }: Scope): readonly MeasureName[] =>
  measureNames.filter(name => sees.money || measures[name].unit !== 'usd');

/** Those of customers as well, whose account is always the same. */
const outerGroups: readonly UsageGroup[] = ['model', 'key', 'hour', 'day', 'month'];

/** The groups by which a reader may ask for usage. */
export const groupsFor = ({ sees }: Scope): readonly UsageGroup[] =>
  usageGroups.filter(group => sees.internals || outerGroups.includes(group));

/** Whether there are sums for a group that its reader may see: by key of one account only, and not by account of one provider. */
export function isOffered(group: ChartGroup, { account, provider }: UsageQuestion, scope: Scope): boolean {
  if (!groupsFor(scope).includes(group)) return false;
  if (group === 'key') return account !== undefined;
  return group !== 'account' || account !== undefined || provider === undefined;
}

/** Whether these sums are kept for a shorter time than the others. */
export const isDetailed = ({ group, question }: UsageView): boolean =>
  group === 'provider' || group === 'key' || question.provider !== undefined || question.key !== undefined;

const orNone = (name: string | undefined) => (name === '' ? none : name);

/** The question as the fields of an address, without the reader's own account. */
export const fieldsOf = ({ question, scope }: UsageView) => ({
  from: question.from_day,
  to: question.to_day,
  account: scope.account ? undefined : question.account,
  model: orNone(question.model),
  provider: orNone(question.provider),
  key: orNone(question.key),
});

/** The page with something else chosen and all the rest as it is. */
export function viewLink(before: UsageView, change: Partial<UsageView>): string {
  const view = { ...before, ...change };
  const { from, to, ...filters } = fieldsOf(view);
  const time = view.preset === undefined ? { from, to } : { time: view.preset };
  return linkOf('usage', { ...time, ...filters, by: view.group, show: view.measure });
}

/** The page for other days. */
export const daysLink = (view: UsageView, from_day: string, to_day: string): string =>
  viewLink(view, { preset: undefined, question: { ...view.question, from_day, to_day } });

/** The page for one name of the group. */
export const nameLink = (view: UsageView, name: string): string =>
  viewLink(view, { question: { ...view.question, [view.group]: name } });

/** Usage as a file. */
export const exportLink = (view: UsageView, by: readonly UsageGroup[]): string =>
  linkOf('usage-csv', fieldsOf(view)) + by.map(group => `&by=${group}`).join('');
