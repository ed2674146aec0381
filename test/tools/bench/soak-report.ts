import type { ProcessMetrics } from '../chaos/process-metrics.ts';
import { markdownTable, median } from '../figures.ts';
import { isFlat, type Point, trendOf } from './trend.ts';

/** What a soak has seen. */
export interface SoakRun {
  readonly samples: readonly ProcessMetrics[];
  readonly began_ms: number;
  readonly replies: number;
  readonly streams: number;
  /** What was wrong with replies, and how often. */
  readonly faults: ReadonlyMap<string, number>;
}

interface Quantity {
  readonly title: string;
  of(sample: ProcessMetrics): number;
  /** Of the samples of one stretch of time. */
  summed(values: readonly number[]): number;
  readonly digits: number;
}

const mib = (bytes: number): number => bytes / 2 ** 20;
const least = (values: readonly number[]): number => Math.min(...values);
const most = (values: readonly number[]): number => Math.max(...values);

/** Of what a collector frees now and then, the least of a stretch of time is what is in use. */
const quantities: readonly Quantity[] = [
  { title: 'resident MiB', of: ({ rss_bytes }) => mib(rss_bytes), summed: median, digits: 1 },
  { title: 'old heap MiB', of: ({ old_bytes }) => mib(old_bytes), summed: least, digits: 1 },
  { title: 'external MiB', of: ({ external_bytes }) => mib(external_bytes), summed: least, digits: 1 },
  { title: 'lag p99 ms', of: ({ lag_p99_s }) => lag_p99_s * 1000, summed: median, digits: 1 },
  { title: 'open files', of: ({ open_files }) => open_files, summed: median, digits: 0 },
  { title: 'handles', of: ({ resources }) => resources, summed: median, digits: 0 },
  { title: 'queued rows', of: ({ queued }) => queued, summed: most, digits: 0 },
  { title: 'in flight', of: ({ in_flight }) => in_flight, summed: median, digits: 0 },
];

const [stretches, rows] = [60, 12];

/** One point for each of `count` stretches of the samples. */
function pointsOf(samples: readonly ProcessMetrics[], count: number, { of, summed }: Quantity): Point[] {
  const size = samples.length / count;
  return Array.from({ length: count }, (_, at) => {
    const stretch = samples.slice(Math.round(at * size), Math.round((at + 1) * size));
    return { at_ms: stretch.at(-1)!.at_ms, value: summed(stretch.map(of)) };
  });
}

/** The lines through the second half of a run. */
function trends({ samples }: SoakRun) {
  return quantities.map(quantity => {
    const points = pointsOf(samples, stretches, quantity).slice(stretches / 2);
    const trend = trendOf(points);
    return { quantity, trend, flat: isFlat(trend, points.at(-1)!.at_ms - points[0]!.at_ms) };
  });
}

/** Whether nothing grows over the second half, and every reply was as expected. */
export const isSteady = (run: SoakRun): boolean =>
  run.faults.size === 0 && trends(run).every(({ flat }) => flat);

/** The run in twelve rows, and the lines through its second half. */
export function soakReport(run: SoakRun): string {
  const columns = quantities.map(quantity => pointsOf(run.samples, rows, quantity));
  const times = columns[0]!.map(({ at_ms }, row) => [
    ((at_ms - run.began_ms) / 60_000).toFixed(1),
    ...columns.map((points, column) => points[row]!.value.toFixed(quantities[column]!.digits)),
  ]);
  const lines = trends(run).map(({ quantity: { title, digits }, trend, flat }) => [
    title,
    trend.mean.toFixed(digits),
    trend.per_hour.toFixed(digits + 1),
    trend.error_per_hour.toFixed(digits + 1),
    flat ? 'flat' : '**grows**',
  ]);
  const faults = [...run.faults].map(([text, times]) => `- ${times} × ${text}`);
  return [
    markdownTable(['minute', ...quantities.map(({ title }) => title)], times),
    'The line through the second half:',
    markdownTable(['', 'mean', 'per hour', 'standard error', 'verdict'], lines),
    `${run.replies} replies and ${run.streams} streams; ${faults.length === 0 ? 'all as expected' : 'not as expected:'}`,
    ...(faults.length > 0 ? [faults.join('\n')] : []),
  ].join('\n\n');
}
