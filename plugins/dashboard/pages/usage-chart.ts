import { dayOf, hour_ms, hourOf, no_model, type UsageGroup, type UsageSum } from '../../../src/plugin.ts';
import { barChart, max_series } from '../view/bar-chart.ts';
import { numberOf } from '../view/format.ts';
import type { Html } from '../view/html.ts';
import { dollarText } from '../view/money.ts';
import { looksOf } from '../view/series-looks.ts';

/** What bars can show. */
export interface Measure {
  readonly title: string;
  /** With the unit, for the axis. */
  readonly axis: string;
  readonly isMoney?: boolean;
  readonly of: (sum: UsageSum) => number;
  readonly amount: (value: number) => string;
}

/** What the bars can show, by name in the query. */
export const measures: ReadonlyMap<string, Measure> = new Map([
  [
    'tokens',
    {
      title: 'Tokens',
      axis: 'Tokens',
      of: ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens,
      amount: numberOf,
    },
  ],
  [
    'cost',
    {
      title: 'Cost',
      axis: 'US dollars',
      isMoney: true,
      of: ({ cost_usd }) => Number(cost_usd),
      amount: dollarText,
    },
  ],
  ['requests', { title: 'Requests', axis: 'Requests', of: ({ requests }) => requests, amount: numberOf }],
]);

/** The names of the measures. */
export const measureNames = ['tokens', 'cost', 'requests'] as const;
export type MeasureName = (typeof measureNames)[number];

interface Span {
  readonly from_day: string;
  readonly to_day: string;
  /** What a bar stands for. */
  readonly unit: 'hour' | 'day' | 'month';
}

/** Usage as bars, of which some groups have series of their own. */
export interface ChartedUsage {
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
  readonly linkOf?: (label: string) => string;
}

const axes = { hour: 'Hour', day: 'Day', month: 'Month' } as const;

/** Bars for every hour or day of the span. Months begin and end with the ledger's first and last entry. */
export function chartOf(usage: ChartedUsage, { title, axis, isMoney, of, amount }: Measure): Html {
  const { span, group, series, listed, others, before } = usage;
  const { unit } = span;
  const ids = series.map(({ id }) => id);
  const looks = looksOf(ids, listed);
  const labels = labelsOf(usage.periods, span);
  const whole = sizesBy(usage.periods, sum => sum[unit]!, of);
  const part = sizesBy(usage.parts, sum => `${sum[unit]}\n${sum[group]}`, of);
  const was = before && sizesBy(before.periods, sum => sum[unit]!, of);
  const labelsBefore = before ? labelsOf(before.periods, before.span) : [];
  const bars = labels.map((label, at) => {
    const parts = ids.map(id => part.get(`${label}\n${id}`) ?? 0);
    const rest = (whole.get(label) ?? 0) - parts.reduce((sum, size) => sum + size, 0);
    return {
      label,
      tick: unit === 'hour' ? label.slice(11) : label,
      // Differences of floating point are nothing.
      parts: others === undefined ? parts : [...parts, rest > 1e-9 ? rest : 0],
      before: was && (was.get(labelsBefore[at] ?? '') ?? 0),
      before_label: labelsBefore[at],
      link: usage.linkOf?.(label),
    };
  });
  const named = series.map(({ name }, at) => ({ name, look: looks[at] }));
  return barChart({
    label: `${title} by ${unit}; the table by ${unit} has the figures`,
    axes: { x: axes[unit], y: axis, isMoney },
    series: others === undefined ? named : [...named, { name: others, look: undefined }],
    bars,
    before: before && rangeText(before.span.from_day, before.span.to_day),
    amount,
  });
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

/** Bars of sums by day and model, the largest models apart, in the order of the catalog's `models` for their looks. */
export function usageChart(
  sums: readonly UsageSum[],
  span: Span,
  measure: Measure,
  models: readonly string[],
  linkOf?: (label: string) => string,
): Html {
  const sizes = [...sizesBy(sums, ({ model }) => model!, measure.of)].sort(([, a], [, b]) => b - a);
  // The largest ones have series of their own if not all can.
  const apart = sizes.length > max_series ? sizes.slice(0, max_series - 1) : sizes;
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
      ...(linkOf && { linkOf }),
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
