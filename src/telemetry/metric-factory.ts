import type { Registry } from 'prom-client';
import {
  type Counter,
  type Gauge,
  type Histogram,
  type LabelValues,
  Metric,
  type MetricDefinition,
  type MetricKind,
  type Series,
} from './metric.ts';
import { CounterSeries, GaugeSeries, HistogramSeries } from './metric-series.ts';

interface HistogramDefinition<L extends readonly string[]> extends MetricDefinition<L> {
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

/**
 * Creates metrics on a registry, with a prefix. Declaring a metric again, as a second gateway on the same registry does, returns the
 * existing one; declaring it differently (kind, labels, buckets) throws.
 */
export class MetricFactory {
  readonly #registry: Registry;
  readonly #prefix: string;

  constructor(registry: Registry, prefix = '') {
    this.#registry = registry;
    this.#prefix = prefix;
  }

  counter<const L extends readonly string[] = []>(definition: MetricDefinition<L>): Counter<L> {
    return this.#metric(definition, { type: 'counter', create: () => new CounterSeries() });
  }

  gauge<const L extends readonly string[] = []>(definition: MetricDefinition<L>): Gauge<L> {
    return this.#metric(definition, { type: 'gauge', create: () => new GaugeSeries() });
  }

  histogram<const L extends readonly string[] = []>(definition: HistogramDefinition<L>): Histogram<L> {
    const { name, buckets } = definition;
    if (buckets.some((bound, at) => !(bound > (buckets[at - 1] ?? Number.NEGATIVE_INFINITY))))
      throw new Error(`metric ${name}: its buckets do not ascend`);
    const create = () => new HistogramSeries(buckets);
    return this.#metric(definition, { type: 'histogram', shape: buckets.join(), create });
  }

  #metric<L extends readonly string[], S extends Series>(
    definition: MetricDefinition<L>,
    kind: MetricKind<S>,
  ): Metric<L, S> {
    const metric = new Metric({ ...definition, name: this.#prefix + definition.name }, kind);
    const known: unknown = this.#registry.getSingleMetric(metric.name);
    // Registering it once more throws, and says which name is taken.
    if (known instanceof Metric && known.isLike(metric)) return known as Metric<L, S>;
    this.#registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
    return metric;
  }
}

/** Metrics that belong together, declared as fields of a subclass: `readonly hit = this.counting({ … })`, called as `hit('cache')`. */
export abstract class MetricSet {
  protected readonly metrics: MetricFactory;

  constructor(registry: Registry) {
    this.metrics = new MetricFactory(registry);
  }

  /** A counter as a function that counts one event with these label values. */
  protected counting<const L extends readonly string[] = []>(
    definition: MetricDefinition<L>,
  ): (...values: LabelValues<L>) => void {
    const counter = this.metrics.counter(definition);
    return (...values) => counter.labels(...values).inc();
  }

  /** A counter as a function that adds an amount. */
  protected adding<const L extends readonly string[] = []>(
    definition: MetricDefinition<L>,
  ): (amount: number, ...values: LabelValues<L>) => void {
    const counter = this.metrics.counter(definition);
    return (amount, ...values) => counter.labels(...values).inc(amount);
  }

  /** A gauge as a function that sets it. */
  protected setting<const L extends readonly string[] = []>(
    definition: MetricDefinition<L>,
  ): (value: number, ...values: LabelValues<L>) => void {
    const gauge = this.metrics.gauge(definition);
    return (value, ...values) => gauge.labels(...values).set(value);
  }
}

/** Creates metrics for plugins. */
export type PluginMetrics = Pick<MetricFactory, 'counter' | 'gauge' | 'histogram'>;

/** The metrics of a plugin: their names begin with `prefix`, or without one with `sluice_` and the plugin's name in snake case. */
export const pluginMetrics = (registry: Registry, plugin: string, prefix?: string): PluginMetrics =>
  new MetricFactory(registry, prefix ?? `sluice_${plugin.replaceAll('-', '_')}_`);
