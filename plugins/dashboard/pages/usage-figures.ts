import { dayOf, type ExtensionContext, type Totals, totalOf, type UsageSum } from '../../../src/plugin.ts';
import { daysOf, timeBefore, toMonthEnd, type UsageQuestion } from '../usage-question.ts';
import { apartOf, type PeriodUnit } from './usage-chart.ts';
import { isDetailed, type UsageView } from './usage-view.ts';

/** Names that are listed; the export has all. */
export const max_lines = 50;
/** Longer times are shown by month. */
const max_days = 92;

/** The figures of the usage page. */
export interface UsageFigures {
  /** The time that is shown: what is not kept any longer is left out. */
  readonly question: UsageQuestion;
  readonly unit: PeriodUnit;
  readonly total: Totals;
  /** By `unit`. */
  readonly periods: readonly UsageSum[];
  /** By the group of the view, the largest first; one more than `max_lines` if there are more. */
  readonly lines: readonly UsageSum[];
  /** By `unit` and group, of those lines that have a series of their own. */
  readonly parts: readonly UsageSum[];
  /** The time of the same length before, by `unit`; undefined if nothing is known of it. */
  readonly before: { readonly question: UsageQuestion; readonly periods: readonly UsageSum[] } | undefined;
}

/** Sums up what the view shows, from kept sums alone. */
export async function usageFigures(context: ExtensionContext, view: UsageView): Promise<UsageFigures> {
  const { usage } = context.records.store;
  const now_ms = context.clock.epoch_ms();
  const since = await usage.detailedSince();
  const detailedSince = view.question.account === undefined ? since.providers : since.hours;
  const first = isDetailed(view) ? (detailedSince ?? view.question.to_day) : '';
  const question = isDetailed(view) ? within(view.question, first, dayOf(now_ms)) : view.question;
  const unit = unitOf(question, since.hours);
  const { group, measure: order } = view;
  const earlier = timeBefore(question);
  // Days of detailed sums are few, and asked one by one.
  const lineQuestion = isDetailed(view) ? question : toMonthEnd(question, now_ms);
  const [periods, lines, before] = await Promise.all([
    usage.sum({ ...question, by: [unit] }),
    usage.sum({ ...lineQuestion, by: [group], order, limit: max_lines + 1 }),
    earlier.from_day < first ? [] : usage.sum({ ...earlier, by: [unit] }),
  ]);
  const names = apartOf(lines).map(line => line[group]!);
  const among = { group, names };
  const parts = names.length === 0 ? [] : await usage.sum({ ...question, by: [unit, group], among });
  return {
    question,
    unit,
    total: totalOf(periods),
    periods,
    lines,
    parts,
    before: before.length === 0 ? undefined : { question: earlier, periods: before },
  };
}

/** The days from `first` to `last` that are asked for; its last or first day if none is, which has nothing. */
function within(question: UsageQuestion, first: string, last: string): UsageQuestion {
  const { from_day, to_day } = question;
  const to = to_day > last && from_day <= last ? last : to_day;
  return { ...question, from_day: from_day < first ? (first < to ? first : to) : from_day, to_day: to };
}

/** Hours for a single day of which they are kept. */
function unitOf(question: UsageQuestion, hours_since: string | undefined): PeriodUnit {
  const days = daysOf(question);
  if (days === 1 && hours_since !== undefined && question.from_day >= hours_since) return 'hour';
  return days > max_days ? 'month' : 'day';
}
