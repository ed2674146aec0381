import { dayOf, hour_ms, hourOf, no_model, type UsageGroup, type UsageSum } from '../../../src/plugin.ts';
import { chart, max_series } from '../view/chart.ts';
import type { Html } from '../view/html.ts';
import { looksOf } from '../view/series-looks.ts';

/** What bars can show. */
export interface Measure {
  readonly title: string;
  readonly unit: 'count' | 'usd';
  readonly of: (sum: UsageSum) => number;
}

/** What the bars can show, by name in the query. */
export const measures: Readonly<Record<MeasureName, Measure>> = {
  tokens: {
    title: 'Tokens',
    unit: 'count',
    of: ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens,
  },
  cost: { title: 'Cost', unit: 'usd', of: ({ cost_usd }) => Number(cost_usd) },
  requests: { title: 'Requests', unit: 'count', of: ({ requests }) => requests },
};

/** The names of the measures. */
export const measureNames = ['tokens', 'cost', 'requests'] as const;
export type MeasureName = (typeof measureNames)[number];

/** What a bar stands for. */
export type PeriodUnit = 'hour' | 'day' | 'month';

interface Span {
  readonly from_day: string;
  readonly to_day: string;
  readonly unit: PeriodUnit;
}

/** Usage as bars, of which some groups have series of their own. */
interface ChartedUsage {
  readonly span: Span;
  readonly group: UsageGroup;
  /** The groups with series, by the name in the sums. */
  readonly series: readonly { readonly id: string; readonly name: string }[];
  /** Ids in a lasting order, for their looks. */
  readonly listed: readonly string[];
  /** What is left of the bars, if the series are not all. */
  readonly others?: string | undefined;
  /** The whole bars: sums by the unit. */
  readonly periods: readonly UsageSum[];
  /** Sums by the unit and the group. */
  readonly parts: readonly UsageSum[];
  /** The time of the same length before, by the unit. */
  readonly before?: { readonly span: Span; readonly periods: readonly UsageSum[] } | undefined;
  /** The page that shows what a bar is made of. */
  readonly linkOf: (label: string) => string;
}

const axes = { hour: 'Hour', day: 'Day', month: 'Month' } as const;

/** Bars for every hour or day of the span. Months begin and end with the ledger's first and last entry. */
export function chartOf(usage: ChartedUsage, { title, unit: amounts, of }: Measure): Html {
  const { span, group, series, listed, others, before } = usage;
  const { unit } = span;
  const labels = labelsOf(usage.periods, span);
  const looks = looksOf(
    series.map(({ id }) => id),
    listed,
  );
  const part = sizesBy(usage.parts, sum => `${sum[unit]}\n${sum[group]}`, of);
  const shown = series.map(({ id, name }, at) => ({
    name,
    look: looks[at],
    values: labels.map(label => part.get(`${label}\n${id}`) ?? 0),
  }));
  const whole = sizesBy(usage.periods, sum => sum[unit]!, of);
  const rest = labels.map((label, at) => {
    const left = shown.reduce((size, { values }) => size - values[at]!, whole.get(label) ?? 0);
    // Differences of floating point are nothing.
    return left > 1e-9 ? left : 0;
  });
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
    series: others === undefined ? shown : [...shown, { name: others, look: undefined, values: rest }],
    ...(before && { before: pointsBefore(before, of) }),
  });
}

function pointsBefore({ span, periods }: NonNullable<ChartedUsage['before']>, of: Measure['of']) {
  const sizes = sizesBy(periods, sum => sum[span.unit]!, of);
  const points = labelsOf(periods, span).map(label => ({ label, value: sizes.get(label) ?? 0 }));
  return { name: rangeText(span.from_day, span.to_day), points };
}

/** One day, or the first and the last of several. */
export const rangeText = (from_day: string, to_day: string): string =>
  from_day === to_day ? from_day : `${from_day} to ${to_day}`;

function sizesBy(
  sums: readonly UsageSum[],
  nameOf: (sum: UsageSum) => string,
  of: Measure['of'],
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const sum of sums) sizes.set(nameOf(sum), (sizes.get(nameOf(sum)) ?? 0) + of(sum));
  return sizes;
}

/** What has a series of its own, of what is sorted by size: all, or the largest if not all can. */
export const apartOf = <T>(sorted: readonly T[]): readonly T[] =>
  sorted.length > max_series ? sorted.slice(0, max_series - 1) : sorted;

/** Bars of sums by day and model, the largest models apart, in the order of the catalog's `models` for their looks. */
export function usageChart(
  sums: readonly UsageSum[],
  span: Span,
  measure: Measure,
  models: readonly string[],
  linkOf: (label: string) => string,
): Html {
  const sizes = [...sizesBy(sums, ({ model }) => model!, measure.of)].sort(([, a], [, b]) => b - a);
  const apart = apartOf(sizes);
  const more = sizes.length - apart.length;
  return chartOf(
    {
      span,
      group: 'model',
      series: apart.map(([id]) => ({ id, name: id || no_model })),
      listed: models,
      others: more > 0 ? `${more} other models` : undefined,
      periods: sums,
      parts: sums,
      linkOf,
    },
    measure,
  );
}

/** Every hour or day of the span, or every month from the first to the last with data. */
function labelsOf(sums: readonly UsageSum[], { from_day, to_day, unit }: Span): string[] {
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
