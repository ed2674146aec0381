import { type CollectedValue, Metric, type MetricDefinition, type NamedLabels } from './metric.ts';
import { CounterSeries, GaugeSeries, HistogramSeries } from './metric-series.ts';

type Names = readonly string[];
type OrLabels<L extends Names> = NamedLabels<L> | number;

/** Labels and a number, which may be given alone, as prom-client's methods take them. */
const split = <L extends Names>(first: OrLabels<L>, second: number) =>
  typeof first === 'number' ? ([[], first] as const) : ([[first], second] as const);

/** A number that only rises. `labels(…).inc()` costs less than `inc({…})`. */
export class Counter<L extends Names = []> extends Metric<L, CounterSeries> {
  constructor(definition: MetricDefinition<L>, owner?: string) {
    super(definition, { type: 'counter', create: () => new CounterSeries() }, owner);
  }

  /** Adds to a series: `inc()`, `inc(2)`, `inc({ day })`, `inc({ day }, 2)`. Throws for a negative amount. */
  inc(first: OrLabels<L> = 1, second = 1): void {
    const [labels, amount] = split(first, second);
    this.labels(...(labels as [NamedLabels<L>])).inc(amount);
  }
}

/** A number that rises and falls. */
export class Gauge<L extends Names = []> extends Metric<L, GaugeSeries> {
  constructor(definition: MetricDefinition<L>, owner?: string) {
    super(definition, { type: 'gauge', create: () => new GaugeSeries() }, owner);
  }

  /** Adds to a series: `inc()`, `inc(2)`, `inc({ day })`, `inc({ day }, 2)`. */
  inc(first: OrLabels<L> = 1, second = 1): void {
    const [labels, amount] = split(first, second);
    this.labels(...(labels as [NamedLabels<L>])).inc(amount);
  }

  /** Subtracts from a series, as `inc` adds. */
  dec(first: OrLabels<L> = 1, second = 1): void {
    const [labels, amount] = split(first, second);
    this.labels(...(labels as [NamedLabels<L>])).dec(amount);
  }

  /** Sets a series: `set(2)`, `set({ day }, 2)`. */
  set(first: OrLabels<L>, second = 0): void {
    const [labels, value] = split(first, second);
    this.labels(...(labels as [NamedLabels<L>])).set(value);
  }

  /**
   * For series that come and go, such as the ten fullest queues: calls `read` at each scrape and shows exactly what it returns,
   * `[{ labels: { queue }, value: 3 }]`, at most `max_series`. Of several values for the same labels the greatest is shown. The returned
   * function ends this; call it in `close`.
   */
  collect(read: () => Iterable<CollectedValue<L>>): () => void {
    return this.collected(read);
  }
}

export interface HistogramDefinition<L extends Names> extends MetricDefinition<L> {
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

/** Counts of observed numbers by size. */
export class Histogram<L extends Names = []> extends Metric<L, HistogramSeries> {
  constructor(definition: HistogramDefinition<L>, owner?: string) {
    const { buckets } = definition;
    const create = () => new HistogramSeries(buckets);
    super(definition, { type: 'histogram', shape: buckets.join(), create }, owner);
  }

  /** Counts a number in a series: `observe(0.2)`, `observe({ day }, 0.2)`. */
  observe(first: OrLabels<L>, second = 0): void {
    const [labels, value] = split(first, second);
    this.labels(...(labels as [NamedLabels<L>])).observe(value);
  }
}
