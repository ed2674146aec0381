import type { Registry } from 'prom-client';
import { z } from 'zod';
import { checkedBy } from '../common/config-error.ts';
import { type LabelValues, Metric, type MetricDefinition, type Series } from './metric.ts';
import { Counter, Gauge, Histogram, type HistogramDefinition } from './metric-kinds.ts';

const name = z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, {
  error: ({ input }) =>
    `'${input}' is not a valid name: use letters, digits and _, and do not begin with a digit`,
});
const label = name.refine(given => given !== 'le' && !given.startsWith('__'), {
  error: ({ input }) => `'${input}' is a label that Prometheus reserves`,
});
const definitionSchema = z.strictObject({
  name,
  help: z.string().min(1, 'must say what is measured'),
  labels: z.array(label).readonly().optional(),
  initial: z.array(z.unknown()).readonly().optional(),
  max_series: z.int().positive().optional(),
  aggregator: z.enum(['sum', 'max', 'min']).optional(),
});
const histogramSchema = definitionSchema.extend({
  buckets: z
    .array(z.number(), 'must be upper bounds, such as [0.1, 1, 10]')
    .readonly()
    .refine(bounds => bounds.every((bound, at) => bound > (bounds[at - 1] ?? -Infinity)), 'do not ascend'),
});

/**
 * Creates metrics on a registry, with a prefix. Declaring a metric again, as a second gateway on the same registry does, returns the
 * existing one; declaring it differently (kind, labels, buckets), or one that another plugin or the gateway has, throws.
 */
export class MetricFactory {
  readonly #registry: Registry;
  readonly #prefix: string;
  readonly #owner: string | undefined;

  constructor(registry: Registry, prefix = '', owner?: string) {
    this.#registry = registry;
    this.#prefix = prefix;
    this.#owner = owner;
  }

  /** Creates a counter. Throws for a name that another metric has. */
  counter<const L extends readonly string[] = []>(definition: MetricDefinition<L>): Counter<L> {
    return this.#registered(new Counter(this.#checked(definition), this.#owner));
  }

  /** Creates a gauge. Throws for a name that another metric has. */
  gauge<const L extends readonly string[] = []>(definition: MetricDefinition<L>): Gauge<L> {
    return this.#registered(new Gauge(this.#checked(definition), this.#owner));
  }

  /** Creates a histogram; `buckets` are upper bounds, ascending. Throws for a name that is taken by another metric. */
  histogram<const L extends readonly string[] = []>(definition: HistogramDefinition<L>): Histogram<L> {
    return this.#registered(new Histogram(this.#checked(definition, histogramSchema), this.#owner));
  }

  #checked<D extends MetricDefinition>(definition: D, schema: z.ZodType = definitionSchema): D {
    const name = this.#prefix + Object(definition).name;
    checkedBy(`metric ${name}`, schema, definition);
    return { ...definition, name };
  }

  #registered<L extends readonly string[], S extends Series, M extends Metric<L, S>>(metric: M): M {
    const { name, owner } = metric;
    const known: unknown = this.#registry.getSingleMetric(name);
    if (known === undefined) {
      this.#registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
      return metric;
    }
    if (!(known instanceof Metric)) throw new Error(`metric ${name}: the application has one of this name`);
    if (known.isLike(metric)) return known as M;
    if (known.owner === owner)
      throw new Error(
        `metric ${name}: is declared already, with another kind, other labels or other buckets`,
      );
    const other = known.owner === undefined ? 'the gateway' : `the plugin ${known.owner}`;
    throw new Error(`metric ${name}: ${other} has one of this name`);
  }
}

/** Metrics that belong together, declared as fields of a subclass: `readonly hit = this.counting({ … })`, called as `hit('cache')`. */
export abstract class MetricSet {
  /** Makes them. */
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
  new MetricFactory(registry, prefix ?? `sluice_${plugin.replaceAll('-', '_')}_`, plugin);
