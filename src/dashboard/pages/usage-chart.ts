import { dayOf } from '../../stores/records/calendar-day.ts';
import { no_model } from '../../stores/records/usage-columns.ts';
import type { UsageSum } from '../../stores/records/usage-query.ts';
import { barChart, max_series } from '../view/bar-chart.ts';
import { numberOf } from '../view/format.ts';
import type { Html } from '../view/html.ts';
import { dollarText } from '../view/money.ts';
import { looksOf } from '../view/series-looks.ts';

interface Measure {
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

interface Span {
  readonly from_day: string;
  readonly to_day: string;
  /** What a bar stands for. */
  readonly unit: 'day' | 'month';
}

/**
 * Bars for the days or months of `span`, with the largest models apart, in the order of the catalog's `models` for their looks. Months
 * begin and end with the ledger's first and last entry.
 */
export function usageChart(
  sums: readonly UsageSum[],
  span: Span,
  { title, axis, isMoney, of, amount }: Measure,
  models: readonly string[],
): Html {
  const { unit } = span;
  const sizes = [...Map.groupBy(sums, ({ model }) => model!)]
    .map(([model, members]) => ({ model, size: members.reduce((size, sum) => size + of(sum), 0) }))
    .sort((a, b) => b.size - a.size);
  // The largest ones have series of their own if not all can.
  const apart = (sizes.length > max_series ? sizes.slice(0, max_series - 1) : sizes).map(
    ({ model }) => model,
  );
  const looks = looksOf(apart, models);
  const series = apart.map((model, at) => ({ name: model || no_model, look: looks[at] }));
  if (sizes.length > apart.length)
    series.push({ name: `${sizes.length - apart.length} other models`, look: undefined });
  const parts = new Map(labelsOf(sums, span).map(label => [label, series.map(() => 0)]));
  for (const sum of sums) {
    const at = apart.indexOf(sum.model!);
    const bar = parts.get(sum[unit]!);
    if (bar) bar[at === -1 ? apart.length : at]! += of(sum);
  }
  return barChart({
    label: `${title} by ${unit}; the table by ${unit} has the figures`,
    axes: { x: unit === 'day' ? 'Day' : 'Month', y: axis, isMoney },
    series,
    bars: [...parts].map(([label, ofLabel]) => ({ label, parts: ofLabel })),
    amount,
  });
}

/** Every day of the span, or every month from the first to the last with data. */
function labelsOf(sums: readonly UsageSum[], { from_day, to_day, unit }: Span): string[] {
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
