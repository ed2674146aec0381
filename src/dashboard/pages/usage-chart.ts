import { no_model } from '../../stores/records/usage-columns.ts';
import type { UsageSum } from '../../stores/records/usage-query.ts';
import { dayOf } from '../usage-question.ts';
import { type Bar, barChart, max_series } from '../view/bar-chart.ts';
import { numberOf } from '../view/format.ts';
import type { Html } from '../view/html.ts';

interface Measure {
  readonly title: string;
  readonly of: (sum: UsageSum) => number;
  readonly amount: (value: number) => string;
}

/** Measures that the bars can show. */
export const measures = {
  tokens: {
    title: 'Tokens',
    of: ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens,
    amount: numberOf,
  },
  cost: {
    title: 'Cost',
    of: ({ cost_usd }) => Number(cost_usd),
    amount: value => `$${value.toFixed(4)}`,
  },
  requests: { title: 'Requests', of: ({ requests }) => requests, amount: numberOf },
} as const satisfies Record<string, Measure>;

export type MeasureName = keyof typeof measures;

export const isMeasure = (name: string): name is MeasureName => Object.hasOwn(measures, name);

interface Span {
  readonly from_day: string;
  readonly to_day: string;
  /** True if bars are months, not days. */
  readonly isLong: boolean;
}

/**
 * Bars for the days or months of `span`, with the largest models apart. Long spans begin and end with the ledger's first and last entry.
 */
export function usageChart(sums: readonly UsageSum[], span: Span, name: MeasureName): Html {
  const measure: Measure = measures[name];
  const { series, seriesOf } = seriesOfModels(sums, measure);
  const unit = span.isLong ? 'month' : 'day';
  const parts = new Map(labelsOf(sums, span).map(label => [label, series.map(() => 0)]));
  for (const sum of sums) {
    const bar = parts.get(sum[unit]!);
    if (bar) bar[seriesOf(sum.model!)]! += measure.of(sum);
  }
  const bars: Bar[] = [...parts].map(([label, values]) => ({ label, parts: values }));
  return barChart({
    label: `${measure.title} by ${unit}; the table by ${unit} has the figures`,
    series,
    bars,
    amount: measure.amount,
  });
}

/** Series by model name if there are few; otherwise the largest ones, and all others together. */
function seriesOfModels(sums: readonly UsageSum[], { of }: Measure) {
  const sizes = new Map<string, number>();
  for (const sum of sums) sizes.set(sum.model!, (sizes.get(sum.model!) ?? 0) + of(sum));
  const models = [...sizes].sort(([, a], [, b]) => b - a).map(([model]) => model);
  const apart = models.length > max_series ? models.slice(0, max_series - 1) : models;
  const series = apart.map(model => model || no_model);
  if (models.length > apart.length) series.push(`${models.length - apart.length} other models`);
  return {
    series,
    seriesOf: (model: string) => {
      const at = apart.indexOf(model);
      return at === -1 ? apart.length : at;
    },
  };
}

/** Every day of the span or, if it is long, every month from the first to the last with data. */
function labelsOf(sums: readonly UsageSum[], { from_day, to_day, isLong }: Span): string[] {
  const first = isLong ? sums[0]!.month! : from_day;
  const last = isLong ? sums.at(-1)!.month! : to_day;
  const [year, month, day = 1] = first.split('-').map(Number) as [number, number, number?];
  const labels: string[] = [];
  for (let step = 0; ; step++) {
    const at = isLong ? Date.UTC(year, month - 1 + step, 1) : Date.UTC(year, month - 1, day + step);
    const label = dayOf(at).slice(0, isLong ? 7 : 10);
    if (label > last) return labels;
    labels.push(label);
  }
}
