import type { Aggregator } from './metric.ts';
import type { Sample } from './metric-series.ts';

/** One metric of one process, as prom-client describes it. */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
  /** How values of several processes become one; `sum` by default. */
  readonly aggregator?: string;
}

/** The metrics of one process. */
export interface ProcessSnapshot {
  /** For the label `worker` of what is told by process. */
  readonly worker: string;
  readonly metrics: readonly MetricSnapshot[];
}

interface Merged {
  readonly described: Omit<MetricSnapshot, 'values'>;
  /** By name and labels. */
  readonly values: Map<string, Sample>;
}

/** Node's own figures, such as memory and the delay of the event loop: a sum of them would say nothing. */
const isOfProcess = (name: string): boolean => /^(?:process|nodejs)_/.test(name);

/** What only grows, so that it outlives its process. */
export const isCounted = ({ name, type }: MetricSnapshot): boolean => type !== 'gauge' && !isOfProcess(name);

const aggregate: Readonly<Record<Aggregator, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
};

/** The metrics of several processes as those of one: added up, or as the metric says; those of Node itself with a label `worker`. */
export function mergedMetrics(processes: readonly ProcessSnapshot[]): MetricSnapshot[] {
  const merged = new Map<string, Merged>();
  for (const { worker, metrics } of processes)
    for (const metric of metrics) {
      const { values, ...described } = metric;
      const into = merged.get(metric.name) ?? { described, values: new Map() };
      merged.set(metric.name, into);
      const own = isOfProcess(metric.name)
        ? values.map(value => ({ ...value, labels: { ...value.labels, worker } }))
        : values;
      addTo(into.values, own, aggregate[metric.aggregator as Aggregator] ?? aggregate.sum);
    }
  return [...merged.values()].map(({ described, values }) => ({
    ...described,
    values: [...values.values()],
  }));
}

function addTo(
  merged: Map<string, Sample>,
  values: readonly Sample[],
  combine: (one: number, other: number) => number,
): void {
  for (const sample of values) {
    const key = `${sample.metricName ?? ''}${JSON.stringify(sample.labels)}`;
    const known = merged.get(key);
    const exemplar = newest(known?.exemplar, sample.exemplar);
    merged.set(key, known ? { ...known, value: combine(known.value, sample.value), exemplar } : sample);
  }
}

const newest = (one: Sample['exemplar'], other: Sample['exemplar']): Sample['exemplar'] =>
  !one || (other && Number(other.timestamp) > Number(one.timestamp)) ? other : one;
