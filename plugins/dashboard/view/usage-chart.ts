import { dayOf, hour_ms, hourOf, no_model, type TaggedQuery, type TaggedSum } from '../../../src/plugin.ts';
import { monthsBefore, type PeriodUnit } from '../usage-figures.ts';
import type { Measure } from '../usage-measures.ts';
import { chart, max_series } from './chart.ts';
import type { Html } from './html.ts';
import { looksOf } from './series-looks.ts';

interface Span {
  readonly from_day: string;
  readonly to_day: string;
  readonly unit: PeriodUnit;
}

/** Usage as bars, of which some groups have series of their own. */
interface ChartedUsage {
  readonly span: Span;
  readonly group: TaggedQuery['by'][number];
  /** The groups with series, by the name in the sums; none for whole bars alone. */
  readonly series: readonly { readonly id: string; readonly name: string }[];
  /** Ids in a lasting order, for their looks. */
  readonly listed: readonly string[];
  /** What is left of the bars, if the series are not all. */
  readonly others?: string | undefined;
  /** The whole bars: sums by the unit. */
  readonly periods: readonly TaggedSum[];
  /** Sums by the unit and the group. */
  readonly parts: readonly TaggedSum[];
  /** Sums by the unit of the same days so many months before. */
  readonly before?:
    | { readonly name: string; readonly months: number; readonly periods: readonly TaggedSum[] }
    | undefined;
  /** The page that shows what a bar is made of. */
  readonly linkOf: (label: string) => string;
}

const axes = { hour: 'Hour', day: 'Day', month: 'Month' } as const;

/** Bars for every hour or day of the span. Months begin and end with the ledger's first and last entry. */
export function usageChart(usage: ChartedUsage, { title, unit: amounts, of }: Measure): Html {
  const { span, group, others, before } = usage;
  const { unit } = span;
  const labels = labelsOf(usage.periods, span);
  const whole = sizesBy(usage.periods, sum => sum[unit]!, of);
  const part = sizesBy(usage.parts, sum => `${sum[unit]}\n${sum[group]}`, of);
  const looks = looksOf(
    usage.series.map(({ id }) => id),
    usage.listed,
  );
  const shown = usage.series.map(({ id, name }, at) => ({
    name,
    look: looks[at],
    values: labels.map(label => part.get(`${label}\n${id}`) ?? 0),
  }));
  const rest = labels.map((label, at) => {
    const left = shown.reduce((size, { values }) => size - values[at]!, whole.get(label) ?? 0);
    // Differences of floating point are nothing.
    return left > 1e-9 ? left : 0;
  });
  const remainder = shown.length === 0 ? title : others;
  return chart({
    label: `${title} by ${unit}`,
    kind: 'bars',
    axis: axes[unit],
    unit: amounts,
    points: labels.map(label => ({
      label,
      tick: unit === 'hour' ? label.slice(11) : label,
      link: usage.linkOf(label),
    })),
    series: remainder === undefined ? shown : [...shown, { name: remainder, look: undefined, values: rest }],
    ...(before && { before: { name: before.name, points: pointsBefore(labels, unit, before, of) } }),
  });
}

/** By bar the one of the same name so many months before. */
function pointsBefore(
  labels: readonly string[],
  unit: PeriodUnit,
  { months, periods }: NonNullable<ChartedUsage['before']>,
  of: Measure['of'],
) {
  const sizes = sizesBy(periods, sum => sum[unit]!, of);
  return labels.map(name => {
    const label = monthsBefore(name, months);
    return label === undefined ? undefined : { label, value: sizes.get(label) ?? 0 };
  });
}

function sizesBy(
  sums: readonly TaggedSum[],
  nameOf: (sum: TaggedSum) => string,
  of: Measure['of'],
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const sum of sums) sizes.set(nameOf(sum), (sizes.get(nameOf(sum)) ?? 0) + Number(of(sum)));
  return sizes;
}

/** What has a series of its own, of what is sorted by size: all, or the largest if not all can. */
export const apartOf = <T>(sorted: readonly T[]): readonly T[] =>
  sorted.length > max_series ? sorted.slice(0, max_series - 1) : sorted;

/** Bars of sums by day and model, the largest models apart, in the order of the catalog's `models` for their looks. */
export function modelChart(
  sums: readonly TaggedSum[],
  days: Omit<Span, 'unit'>,
  measure: Measure,
  models: readonly string[],
  linkOf: (label: string) => string,
): Html {
  const sizes = [...sizesBy(sums, ({ model }) => model!, measure.of)].sort(([, a], [, b]) => b - a);
  const series = apartOf(sizes).map(([id]) => ({ id, name: id || no_model }));
  const more = sizes.length - series.length;
  const others = more > 0 ? `${more} other models` : undefined;
  const span = { ...days, unit: 'day' } as const;
  return usageChart(
    { span, group: 'model', series, listed: models, others, periods: sums, parts: sums, linkOf },
    measure,
  );
}

/** Every hour or day of the span, or every month from the first to the last with data. */
function labelsOf(sums: readonly TaggedSum[], { from_day, to_day, unit }: Span): string[] {
  if (unit === 'hour')
    return Array.from({ length: 24 }, (_, at) => hourOf(Date.parse(from_day) + at * hour_ms));
  const first = unit === 'month' ? sums[0]!.month! : from_day;
  const last = unit === 'month' ? sums.at(-1)!.month! : to_day;
  const [year, month, day = 1] = first.split('-').map(Number) as [number, number, number?];
  const labels: string[] = [];
  for (let step = 0; ; step++) {
    const at = unit === 'month' ? Date.UTC(year, month - 1 + step, 1) : Date.UTC(year, month - 1, day + step);
    const label = dayOf(at).slice(0, first.length);
    if (label > last) return labels;
    labels.push(label);
  }
}
