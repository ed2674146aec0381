import type { Registry } from 'prom-client';

/** What a metric of prom-client tells of itself when it is asked. */
interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

interface Sample {
  readonly metricName?: string;
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly exemplar?: Exemplar | null | undefined;
}

/** One observation that stands for those of its bucket, with the trace to look at. */
export interface Exemplar {
  readonly trace_id: string;
  readonly value: number;
  readonly epoch_s: number;
}

export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Whether a scraper asks for OpenMetrics, the form that has exemplars. */
export const wantsOpenMetrics = (accept: string | undefined): boolean =>
  accept?.includes('application/openmetrics-text') === true;

/** Everything on `registry` as OpenMetrics 1.0. */
export async function openMetricsOf(registry: Registry): Promise<string> {
  const metrics = registry.getMetricsAsArray() as unknown as { get(): Promise<Described> }[];
  const families = await Promise.all(metrics.map(async metric => familyOf(await metric.get())));
  return `${families.join('')}# EOF\n`;
}

function familyOf({ name, help, type, values }: Described): string {
  // A family of counters is named without the ending that its samples have.
  const family = type === 'counter' ? name.replace(/_total$/, '') : name;
  const lines = values.map(sample => {
    const written = sample.metricName ?? name;
    const suffix = type === 'counter' && !written.endsWith('_total') ? '_total' : '';
    return `${written}${suffix}${labelsOf(sample.labels)} ${numberOf(sample.value)}${exemplarOf(sample.exemplar)}\n`;
  });
  return `# HELP ${family} ${escaped(help)}\n# TYPE ${family} ${type}\n${lines.join('')}`;
}

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

function labelsOf(labels: Sample['labels'] = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function numberOf(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

const exemplarOf = (exemplar: Sample['exemplar']): string =>
  exemplar == null
    ? ''
    : ` # {trace_id="${exemplar.trace_id}"} ${exemplar.value} ${exemplar.epoch_s.toFixed(3)}`;
