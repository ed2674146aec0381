import type { UsageGroup } from '../../../src/plugin.ts';
import { seesMoney } from '../access/roles.ts';
import type { PageRequest } from '../page-request.ts';
import { type PresetName, presetOf, queryOf, type UsageQuestion, usageQuestion } from '../usage-question.ts';
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
  /** Whether the reader sees amounts of money. */
  readonly hasCost: boolean;
}

/** Reads the address of the usage page. What it does not have, or what cannot be shown, is as if it were left out. */
export function usageView({ context, query, session }: PageRequest): { view: UsageView; fault?: string } {
  const { question, fault } = usageQuestion(query, context.clock.epoch_ms());
  const hasCost = seesMoney(session.role);
  const chosen = query.get('show') ?? '';
  const group = chartGroups.find(name => name === query.get('by'));
  const view = {
    question,
    preset: fault === undefined ? presetOf(query) : undefined,
    group: group && isOffered(group, question) ? group : 'model',
    measure: measuresFor(hasCost).find(name => name === chosen) ?? 'tokens',
    hasCost,
  } as const;
  return { view, ...(fault !== undefined && { fault }) };
}

/** The measures of a reader. */
export const measuresFor = (hasCost: boolean): readonly MeasureName[] =>
  measureNames.filter(name => hasCost || !measures.get(name)!.isMoney);

/** Whether there are sums for a group: by key of one account only, and not by account of one provider. */
export function isOffered(group: ChartGroup, { account, provider }: UsageQuestion): boolean {
  if (group === 'key') return account !== undefined;
  return group !== 'account' || account !== undefined || provider === undefined;
}

/** Whether these sums are kept for a shorter time than the others. */
export const isDetailed = ({ group, question }: UsageView): boolean =>
  group === 'provider' || group === 'key' || question.provider !== undefined || question.key !== undefined;

/** The page with something else chosen and all the rest as it is. */
export function viewLink(view: UsageView, change: Partial<UsageView>): string {
  const { question, preset, group, measure } = { ...view, ...change };
  const { from, to, ...filters } = queryOf(question);
  const time = preset === undefined ? { from, to } : { time: preset };
  return linkOf('usage', { ...time, ...filters, by: group, show: measure });
}

/** The page for other days. */
export const daysLink = (view: UsageView, from_day: string, to_day: string): string =>
  viewLink(view, { preset: undefined, question: { ...view.question, from_day, to_day } });

/** The page for one name of the group. */
export const nameLink = (view: UsageView, name: string): string =>
  viewLink(view, { question: { ...view.question, [view.group]: name } });

/** Usage as a file. */
export const exportLink = ({ question }: UsageView, by: readonly UsageGroup[]): string =>
  linkOf('usage-csv', queryOf(question)) + by.map(group => `&by=${group}`).join('');
