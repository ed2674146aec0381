import type { Registry } from 'prom-client';
import {
  type Counter,
  type Gauge,
  type Histogram,
  Metric,
  type MetricDefinition,
  type MetricKind,
  type Sample,
} from './metric.ts';
import { CounterSeries, GaugeSeries, HistogramSeries } from './metric-series.ts';

interface HistogramDefinition<L extends readonly string[]> extends MetricDefinition<L> {
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

/**
 * Makes metrics on a registry, each name after a prefix. A metric that is declared again, as by a second gateway on the same registry, is the
 * one that is there; declared otherwise (kind, labels, buckets), it throws.
 */
export class MetricFactory {
  readonly #registry: Registry;
  readonly #prefix: string;

  constructor(registry: Registry, prefix = '') {
    this.#registry = registry;
    this.#prefix = prefix;
  }

  counter<const L extends readonly string[] = []>(definition: MetricDefinition<L>): Counter<L> {
    return this.#metric(definition, counterKind);
  }

  gauge<const L extends readonly string[] = []>(definition: MetricDefinition<L>): Gauge<L> {
    return this.#metric(definition, gaugeKind);
  }

  histogram<const L extends readonly string[] = []>(definition: HistogramDefinition<L>): Histogram<L> {
    const { name, buckets } = definition;
    if (buckets.some((bound, at) => !(bound > (buckets[at - 1] ?? Number.NEGATIVE_INFINITY))))
      throw new Error(`metric ${name}: its buckets do not ascend`);
    return this.#metric(definition, histogramKind(buckets));
  }

  #metric<L extends readonly string[], S extends { reset(): void }>(
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

/** Makes metrics, as plugins are given it. */
export type PluginMetrics = Pick<MetricFactory, 'counter' | 'gauge' | 'histogram'>;

/** The metrics of a plugin: their names begin with `prefix`, or without one with `sluice_` and the plugin's name in snake case. */
export const pluginMetrics = (registry: Registry, plugin: string, prefix?: string): PluginMetrics =>
  new MetricFactory(registry, prefix ?? `sluice_${plugin.replaceAll('-', '_')}_`);

const oneSample = ({ value }: { value: number }, labels: Sample['labels']): Sample[] => [{ labels, value }];
const counterKind: MetricKind<CounterSeries> = {
  type: 'counter',
  create: () => new CounterSeries(),
  samples: oneSample,
};
const gaugeKind: MetricKind<GaugeSeries> = {
  type: 'gauge',
  create: () => new GaugeSeries(),
  samples: oneSample,
};

const histogramKind = (bounds: readonly number[]): MetricKind<HistogramSeries> => ({
  type: 'histogram',
  shape: bounds.join(),
  create: () => new HistogramSeries(bounds),
  samples(series, labels, name) {
    let count = 0;
    const buckets = [...series.counts].map((inBucket, at) => {
      count += inBucket;
      const found = series.exemplars?.[at];
      return {
        labels: { le: bounds[at] ?? '+Inf', ...labels },
        value: count,
        metricName: `${name}_bucket`,
        exemplar: found && {
          labelSet: { trace_id: found.trace_id },
          value: found.value,
          timestamp: found.epoch_s.toFixed(3),
        },
      };
    });
    return [
      ...buckets,
      { labels, value: series.sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  },
});
