declare const checked: unique symbol;

/** PromQL in which every metric has the selector of the processes that the dashboard shows: only `of` names a metric. */
export type Expr = string & { readonly [checked]: 'PromQL' };

/** The models that are selected above the panels. */
export const ofModel = 'gen_ai_request_model=~"$model"';
/** The providers that are selected. */
export const ofProvider = 'sluice_provider=~"$provider"';

const processes = 'job=~"$job",instance=~"$instance"';

/** The series of `metric` that the selected processes export, of those that `matchers` fit. */
export const of = (metric: string, ...matchers: readonly string[]): Expr =>
  `${metric}{${[processes, ...matchers].join()}}` as Expr;

const labelLists = /\b(?:by|on) \([^)]*\)/g;
const bareMetric = /\b(?:sluice|gen_ai|process|nodejs)_\w+/;

/** PromQL around expressions. Throws for a metric in `text` itself, which would be that of every process Prometheus knows. */
export function promql(text: TemplateStringsArray, ...parts: readonly (Expr | number)[]): Expr {
  const bare = bareMetric.exec(text.join(' ').replace(labelLists, ''));
  if (bare) throw new Error(`${bare[0]} selects no processes: name it with of()`);
  return String.raw({ raw: text }, ...parts) as Expr;
}

/** A counter per second, over the interval that Grafana deems right for the panel's width. */
export const perSecond = (counter: Expr): Expr => promql`rate(${counter}[$__rate_interval])`;

const aggregate =
  (how: string) =>
  (expr: Expr, ...labels: readonly string[]): Expr =>
    `${how}${labels.length > 0 ? ` by (${labels.join(', ')}) ` : ''}(${expr})` as Expr;

/** The sum of all series, or a sum by `labels`. */
export const sum = aggregate('sum');
export const min = aggregate('min');
export const max = aggregate('max');
export const count = aggregate('count');

/** A sum of counters per second, over all series or by `labels`. */
export const rate = (counter: Expr, ...labels: readonly string[]): Expr => sum(perSecond(counter), ...labels);

/** `expr`, or 0 while it has no series; only for what has no labels. */
export const orZero = (expr: Expr): Expr => promql`(${expr} or vector(0))`;

/** `part` as a share of `whole`: 0 without a part, nothing without a whole. */
export const share = (part: Expr, whole: Expr): Expr => promql`(${part} or ${whole} * 0) / (${whole} > 0)`;

/** A quantile of a histogram, over all series or by `labels`. */
export const quantile = (q: number, histogram: Expr, ...labels: readonly string[]): Expr =>
  promql`histogram_quantile(${q}, ${rate(buckets(histogram), 'le', ...labels)})`;

/** The same quantiles of one histogram as queries, named p50, p99 and so on. */
export const quantiles = (histogram: Expr, ...those: readonly number[]): Record<string, Expr> =>
  Object.fromEntries(those.map(q => [`p${q * 100}`, quantile(q, histogram)]));

const buckets = (histogram: Expr): Expr => histogram.replace('{', '_bucket{') as Expr;
