import { markdownTable, median } from '../figures.ts';
import type { Entry, Kind, Result } from './measurement.ts';
import type { Table } from './tables.ts';

/** What was measured of a contestant: medians by their names, and under `…_ratio` those of the ratios to the baseline. */
export type Figures = Readonly<Record<string, number>>;

export const perSecond = ({ count, seconds }: Result): number => count / seconds;
export const cpu_us = ({ cpu_s, count }: Result): number => (cpu_s / count) * 1e6;
type Quantity = (result: Result) => number;

const columns: readonly {
  head: string;
  /** In the history. */
  key: string;
  kind: Kind;
  of: Quantity;
  digits: number;
  ratio?: true;
}[] = [
  { head: 'Requests/s', key: 'requests_per_s', kind: 'requests', of: perSecond, digits: 0, ratio: true },
  { head: 'p50 ms', key: 'p50_ms', kind: 'requests', of: ({ p50_ms }) => p50_ms, digits: 2 },
  { head: 'p99 ms', key: 'p99_ms', kind: 'requests', of: ({ p99_ms }) => p99_ms, digits: 2 },
  {
    head: 'CPU µs per request',
    key: 'cpu_us_per_request',
    kind: 'requests',
    of: cpu_us,
    digits: 1,
    ratio: true,
  },
  { head: 'CPU µs per event', key: 'cpu_us_per_event', kind: 'streams', of: cpu_us, digits: 1, ratio: true },
  { head: 'of the pace', key: 'pace', kind: 'streams', of: ({ pace }) => pace, digits: 2 },
  {
    head: 'KiB per stream',
    key: 'kib_per_stream',
    kind: 'streams',
    of: ({ stream_bytes }) => stream_bytes / 1024,
    digits: 0,
  },
];

/** The median with its unit; a dash of none. */
const shown = (values: readonly number[], digits: number, unit = ''): string => {
  const middle = median(values.filter(value => !Number.isNaN(value)));
  return Number.isNaN(middle) ? '–' : `${middle.toFixed(digits)}${unit}`;
};

export function tableText(
  { title, baseline, contestants }: Table,
  entries: ReadonlyMap<string, Entry>,
): string {
  const base = entries.get(baseline);
  const measured = columns.filter(({ kind }) =>
    contestants.some(({ name }) => entries.get(name)![kind].length > 0),
  );
  const rows = contestants.map(({ name, title }) => {
    const entry = entries.get(name)!;
    if (entry.fault) return [`${title}: ${entry.fault.replaceAll(/[\s|]+/g, ' ').slice(0, 200)}`];
    const cells = measured.flatMap(({ kind, of, digits, ratio }) => {
      const { values, ratios } = valuesOf(entry, base, kind, of);
      return [shown(values, digits), ...(ratio ? [shown(ratios, 2, '×')] : [])];
    });
    return [title, ...cells];
  });
  const head = measured.flatMap(({ head, ratio }) => [head, ...(ratio ? ['× baseline'] : [])]);
  return `**${title}**, × baseline: divided by ${baseline}\n\n${markdownTable(['Gateway', ...head], rows)}`;
}

/** All values of a quantity, and their ratios to the baseline round by round: the machine is faster in one round than in another. */
function valuesOf(entry: Entry, base: Entry | undefined, kind: Kind, of: Quantity) {
  const values = entry[kind].map(of);
  const ratios = values.map((value, round) => value / (base?.[kind].map(of)[round] ?? Number.NaN));
  return { values, ratios };
}

/** The figures of a table by the names of its contestants, for the history. */
export function figuresOf(
  { baseline, contestants }: Table,
  entries: ReadonlyMap<string, Entry>,
): Record<string, Figures> {
  const base = entries.get(baseline);
  const figures = contestants.map(({ name }) => {
    const named = columns.flatMap(({ key, kind, of, ratio }) => {
      const { values, ratios } = valuesOf(entries.get(name)!, base, kind, of);
      return [[key, median(values)] as const, ...(ratio ? [[`${key}_ratio`, median(ratios)] as const] : [])];
    });
    const known = named.filter(([, value]) => Number.isFinite(value));
    return [name, Object.fromEntries(known.map(([key, value]) => [key, Number(value.toPrecision(4))]))];
  });
  return Object.fromEntries(figures);
}

/** Notes on contestants whose figures were limited by something else. */
export function doubts({ contestant: { name }, requests, streams }: Entry): string[] {
  const loaded = median([...requests, ...streams].map(({ load_cpu_s, seconds }) => load_cpu_s / seconds));
  const pace = median(streams.map(result => result.pace));
  return [
    loaded > 0.9 && `${name}: generator and upstream used ${Math.round(loaded * 100)} % of their core`,
    pace < 0.97 && `${name}: delivered ${Math.round(pace * 100)} % of the pace`,
  ].filter(note => note !== false);
}
