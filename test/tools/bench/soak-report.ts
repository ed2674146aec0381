import type { ProcessMetrics } from '../chaos/process-metrics.ts';
import { markdownTable, quantile, thirdsOf } from '../figures.ts';

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
  readonly digits: number;
  /** By how much it may grow in any case, beside 3 %. */
  readonly slack: number;
}

const mib = (bytes: number): number => bytes / 2 ** 20;
const most_growth = 1.03;
const rows = 12;

const quantities: readonly Quantity[] = [
  { title: 'resident MiB', of: ({ rss_bytes }) => mib(rss_bytes), digits: 1, slack: 4 },
  { title: 'old heap MiB', of: ({ old_bytes }) => mib(old_bytes), digits: 1, slack: 2 },
  { title: 'external MiB', of: ({ external_bytes }) => mib(external_bytes), digits: 1, slack: 2 },
  { title: 'lag p99 ms', of: ({ lag_p99_s }) => lag_p99_s * 1000, digits: 1, slack: 20 },
  { title: 'open files', of: ({ open_files }) => open_files, digits: 0, slack: 16 },
  { title: 'handles', of: ({ resources }) => resources, digits: 0, slack: 16 },
  { title: 'queued rows', of: ({ queued }) => queued, digits: 0, slack: 100 },
  { title: 'in flight', of: ({ in_flight }) => in_flight, digits: 0, slack: 16 },
];

/** What is in use at the least: collections, and what the load does by chance, only ever add to it. */
const floorOf = (values: readonly number[]): number => quantile(values, 0.1);

/** The floors of a quantity in the second and the last third of a run, and whether it has grown. */
export function growthIn(values: readonly number[], slack: number) {
  const { before, after } = thirdsOf(values, floorOf);
  return { before, after, hasGrown: after > before * most_growth + slack };
}

/** Whether nothing grows, and every reply was as expected. */
export const isSteady = ({ faults, samples }: SoakRun): boolean =>
  faults.size === 0 && !quantities.some(({ of, slack }) => growthIn(samples.map(of), slack).hasGrown);

/** The run in twelve rows, its thirds, and what was wrong with replies. */
export function soakReport({ samples, began_ms, replies, streams, faults }: SoakRun): string {
  const times = Array.from({ length: rows }, (_, row) => {
    const stretch = samples.slice((row * samples.length) / rows, ((row + 1) * samples.length) / rows);
    const minute = ((stretch.at(-1)!.at_ms - began_ms) / 60_000).toFixed(1);
    return [minute, ...quantities.map(({ of, digits }) => floorOf(stretch.map(of)).toFixed(digits))];
  });
  const thirds = quantities.map(({ title, of, digits, slack }) => {
    const { before, after, hasGrown } = growthIn(samples.map(of), slack);
    return [title, before.toFixed(digits), after.toFixed(digits), hasGrown ? '**grows**' : 'steady'];
  });
  const wrong = [...faults].map(([text, count]) => `- ${count} × ${text}`);
  return [
    markdownTable(['minute', ...quantities.map(({ title }) => title)], times),
    markdownTable(['', 'second third', 'last third', ''], thirds),
    `${replies} replies and ${streams} streams; ${wrong.length === 0 ? 'all as expected' : 'not as expected:'}`,
    ...(wrong.length > 0 ? [wrong.join('\n')] : []),
  ].join('\n\n');
}
