import { markdownTable, median } from '../figures.ts';
import type { Entry, Kind, Result } from './measurement.ts';
import type { Table } from './tables.ts';

export const cpu_us = ({ cpu_s, count }: Result): number => (cpu_s / count) * 1e6;

interface Column {
  readonly head: string;
  readonly kind: Kind;
  of(result: Result): number;
  readonly digits: number;
  /** Its ratio to the baseline stands beside it. */
  readonly ratio?: true;
}

const columns: readonly Column[] = [
  {
    head: 'Requests/s',
    kind: 'requests',
    of: ({ count, seconds }) => count / seconds,
    digits: 0,
    ratio: true,
  },
  { head: 'p50 ms', kind: 'requests', of: ({ p50_ms }) => p50_ms, digits: 2 },
  { head: 'p99 ms', kind: 'requests', of: ({ p99_ms }) => p99_ms, digits: 2 },
  { head: 'CPU µs per request', kind: 'requests', of: cpu_us, digits: 1, ratio: true },
  { head: 'CPU µs per event', kind: 'streams', of: cpu_us, digits: 1, ratio: true },
  { head: 'of the pace', kind: 'streams', of: ({ pace }) => pace, digits: 2 },
  { head: 'KiB per stream', kind: 'streams', of: ({ stream_bytes }) => stream_bytes / 1024, digits: 0 },
];

/** The median with its unit; a dash of none. */
const shown = (values: readonly number[], digits: number, unit = ''): string => {
  const middle = median(values.filter(value => !Number.isNaN(value)));
  return Number.isNaN(middle) ? '–' : `${middle.toFixed(digits)}${unit}`;
};

/** What was measured, a row for each contestant. */
export function tableText(
  { title, baseline }: Omit<Table, 'contestants'>,
  entries: readonly Entry[],
): string {
  const base = entries.find(({ contestant: { name } }) => name === baseline);
  const measured = columns.filter(({ kind }) => entries.some(entry => entry[kind].length > 0));
  const rows = entries.map(entry => {
    const { title: name } = entry.contestant;
    if (entry.fault) return [`${name}: ${entry.fault.replaceAll(/[\s|]+/g, ' ').slice(0, 200)}`];
    return [name, ...measured.flatMap(column => cellsOf(column, entry, base))];
  });
  const head = measured.flatMap(({ head, ratio }) => [head, ...(ratio ? ['× baseline'] : [])]);
  return `**${title}**, × baseline: divided by ${baseline}\n\n${markdownTable(['Gateway', ...head], rows)}`;
}

/** Ratios to the baseline are taken round by round: the machine is faster in one round than in another. */
function cellsOf({ kind, of, digits, ratio }: Column, entry: Entry, base: Entry | undefined): string[] {
  const [values, others] = [entry[kind].map(of), base?.[kind].map(of) ?? []];
  const ratios = values.map((value, round) => value / (others[round] ?? Number.NaN));
  return [shown(values, digits), ...(ratio ? [shown(ratios, 2, '×')] : [])];
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
