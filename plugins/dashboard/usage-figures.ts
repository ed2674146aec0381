import {
  day_ms,
  dayOf,
  type ExtensionContext,
  isTagGroup,
  lastDayOf,
  sumByTags,
  type TaggedQuery,
  type TaggedSum,
  type Totals,
  totalOf,
} from '../../src/plugin.ts';
import { accountOf, isDetailed, type UsageView } from './usage-view.ts';
import { max_series } from './view/chart.ts';

/** Names that are listed; the export has all. */
export const max_lines = 50;
/** Longer times are shown by month. */
const max_days = 92;
/** Sums by key that are read for those by tags. */
const max_key_sums = 50_000;

/** There is no usage of earlier days, nor do dates have years of one digit. */
const first_day = '1970-01-01';

/** What a bar stands for. */
export type PeriodUnit = 'hour' | 'day' | 'month';

/** Sums of one time. */
interface TimeSums {
  readonly from_day: string;
  readonly to_day: string;
  /** By the unit. */
  readonly periods: readonly TaggedSum[];
  /** By the group of the view. */
  readonly lines: readonly TaggedSum[];
}

/** The figures of the usage page, of the time that is shown: what is not kept any longer is left out. */
export interface UsageFigures extends TimeSums {
  readonly unit: PeriodUnit;
  readonly total: Totals;
  /** The largest first, and one more than `max_lines` if there are more; by time the newest first. */
  readonly lines: readonly TaggedSum[];
  /** The lines that have a series of their own in charts: all, or the largest if not all can. */
  readonly series: readonly string[];
  /** By `unit` and group, of these. */
  readonly parts: readonly TaggedSum[];
  /** The same days, so many months before; undefined if nothing is known of them. */
  readonly before: (TimeSums & { readonly months: number; readonly total: Totals }) | undefined;
}

type Asked = Pick<TaggedQuery, 'by' | 'order' | 'limit' | 'among'>;

/** Adds up what a view shows. Rejects with RecordRefused where there are too many sums by key. */
export async function sumsOf(context: ExtensionContext, view: UsageView, asked: Asked): Promise<TaggedSum[]> {
  const { from_day, to_day, filters } = view;
  const {
    settings,
    records: { store },
  } = context;
  const [model, provider, key] = [filters.get('model'), filters.get('provider'), filters.get('key')];
  const query = { from_day, to_day, account: accountOf(view), model, provider, key };
  const tags = [...filters.keys()].filter(isTagGroup);
  if (tags.length === 0) return sumByTags({ store, settings }, { ...query, ...asked }, max_key_sums);
  const { by, limit, ...rest } = asked;
  const sums = await sumByTags(
    { store, settings },
    { ...query, ...rest, by: [...by, ...tags] },
    max_key_sums,
  );
  return sums.filter(sum => tags.every(tag => sum[tag] === filters.get(tag))).slice(0, limit);
}

/** Sums up what the view shows, from kept sums alone. */
export async function usageFigures(context: ExtensionContext, asked: UsageView): Promise<UsageFigures> {
  const now_ms = context.clock.epoch_ms();
  const since = await context.records.store.usage.detailedSince();
  const detailedSince = accountOf(asked) === undefined ? since.providers : since.hours;
  const first = isDetailed(asked) ? (detailedSince ?? asked.to_day) : '';
  const view = isDetailed(asked) ? within(asked, first, dayOf(now_ms)) : asked;
  const unit = unitOf(view, since.hours);
  const { group, measure: order } = view;
  const by = group === 'time' ? unit : group;
  const earlier = monthsEarlier(view);
  // Days of detailed sums are few, and asked one by one.
  const lineView = isDetailed(view) ? view : toMonthEnd(view, now_ms);
  const [periods, sums] = await Promise.all([
    sumsOf(context, view, { by: [unit] }),
    group === 'time' ? [] : sumsOf(context, lineView, { by: [by], order, limit: max_lines + 1 }),
  ]);
  const names = sums.map(sum => sum[by]!);
  const series = names.slice(0, names.length > max_series ? max_series - 1 : max_series);
  const isKnown = earlier !== undefined && earlier.from_day >= first && periods.length > 0;
  const [parts, periodsBefore, linesBefore] = await Promise.all([
    sums.length === 0 ? [] : sumsOf(context, view, { by: [unit, by], ...amongFor(by, series) }),
    isKnown ? sumsOf(context, earlier, { by: [unit] }) : [],
    isKnown && sums.length > 0
      ? sumsOf(context, earlier, { by: [by], ...amongFor(by, names.slice(0, max_lines)) })
      : [],
  ]);
  const { from_day, to_day } = view;
  const lines = group === 'time' ? periods.toReversed() : sums;
  return {
    ...{ from_day, to_day, unit, periods, lines, series, parts, total: totalOf(periods) },
    before:
      isKnown && periodsBefore.length > 0
        ? { ...earlier, periods: periodsBefore, lines: linesBefore, total: totalOf(periodsBefore) }
        : undefined,
  };
}

/** Only these names; of tags, which are few, all. */
const amongFor = (group: TaggedQuery['by'][number], names: readonly string[]): Pick<Asked, 'among'> =>
  isTagGroup(group) ? {} : { among: { group, names } };

type Days = Pick<UsageView, 'from_day' | 'to_day'>;

/** The days from `first` to `last` that are asked for; its last or first day if none is, which has nothing. */
function within(view: UsageView, first: string, last: string): UsageView {
  const { from_day, to_day } = view;
  const to = to_day > last && from_day <= last ? last : to_day;
  return { ...view, from_day: from_day < first ? (first < to ? first : to) : from_day, to_day: to };
}

/** Hours for a single day of which they are kept. */
function unitOf(days: Days, hours_since: string | undefined): PeriodUnit {
  const count = daysOf(days);
  if (count === 1 && hours_since !== undefined && days.from_day >= hours_since) return 'hour';
  return count > max_days ? 'month' : 'day';
}

/** How many days they are. */
export const daysOf = ({ from_day, to_day }: Days): number =>
  Math.round((Date.parse(to_day) - Date.parse(from_day)) / day_ms) + 1;

/**
 * The hour, day or month of the same name so many months before: `2026-02-28` for `2026-03-28` and 1. Undefined where that month has no such
 * day.
 */
export function monthsBefore(label: string, months: number): string | undefined {
  const [date = '', hour = ''] = label.split(/(?= )/);
  const [year, month, day = 1] = date.split('-').map(Number) as [number, number, number?];
  const moved = new Date(Date.UTC(year, month - 1 - months, day));
  return moved.getUTCDate() === day ? moved.toISOString().slice(0, date.length) + hour : undefined;
}

/** The same days of the month before, or of as many months before as it takes to have none of them twice; undefined if there are none. */
export function monthsEarlier<T extends Days>(days: T): (T & { readonly months: number }) | undefined {
  if (days.from_day < first_day) return undefined;
  for (let months = Math.max(1, Math.floor(daysOf(days) / 31)); ; months++) {
    const month = monthsBefore(days.to_day.slice(0, 7), months)!;
    const to_day = monthsBefore(days.to_day, months) ?? lastDayOf(month);
    if (to_day >= days.from_day) continue;
    const from_day = monthsBefore(days.from_day, months);
    return from_day === undefined || from_day > to_day ? undefined : { ...days, from_day, to_day, months };
  }
}

/**
 * Extends days that end today or later to the end of the month, which has no entries yet: sums of whole months are answered from stored
 * sums.
 */
export const toMonthEnd = <T extends Days>(days: T, now_ms: number): T =>
  days.to_day < dayOf(now_ms) ? days : { ...days, to_day: lastDayOf(days.to_day.slice(0, 7)) };
