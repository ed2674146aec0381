import { listOf, numberFrom } from '../command-options.ts';
import { markdownTable, median } from '../figures.ts';
import { disturbance, machineText, thisMachine } from '../machine.ts';
import { defineTool } from '../tool.ts';
import type { Contestant } from './contestants.ts';
import {
  benchPlace,
  type Entry,
  events_per_second,
  type Kind,
  type MeasureOptions,
  measureAll,
  type Result,
  started,
} from './measurement.ts';
import { tables } from './tables.ts';

/** The benchmark of one table: all its contestants take turns under load. */
export const tableTool = (name: string) => {
  const { contestants, title, baseline } = tables[name]!;
  const named = Object.fromEntries(contestants.map(each => [each.name, each]));
  return defineTool<MeasureOptions & { warmUp?: number; only: readonly Contestant[] }>({
    about:
      'Linux with taskset and two cores. A Markdown table on stdout, progress on stderr. Portkey is fetched from npm.',
    options: command =>
      command
        .option('--seconds <N>', 'length of one measurement', numberFrom(0.1, 600, false), 1)
        .option('--rounds <N>', 'measurements per contestant, interleaved', numberFrom(1, 5000), 9)
        .option('--connections <N>', 'of a closed loop; 0 measures no requests', numberFrom(0, 5000), 32)
        .option(
          '--streams <N>',
          `at the same time, ${events_per_second} events per second each; 0 measures none`,
          numberFrom(0, 5000),
          200,
        )
        .option(
          '--warm-up <N>',
          'seconds of load before the first measurement; by default 20, and 2 of streams',
          numberFrom(0, 600, false),
        )
        .option('--only <A,B>', `of ${Object.keys(named).join(', ')}`, listOf(named), contestants),
    async run({ options, command }) {
      const machine = thisMachine();
      const place = await benchPlace();
      const entries: Entry[] = [];
      for (const contestant of options.only) entries.push(await started(contestant, place));
      await measureAll(entries, options, place.upstream.pid, options.warmUp);
      const notes = [...disturbance(machine), ...entries.flatMap(doubts)].map(line => `- ${line}`);
      const heading = `**${title}**, × baseline: divided by ${baseline}`;
      const texts = [`${machineText(machine)}\n\`${command}\``, heading, tableText(baseline, entries)];
      process.stdout.write(`${[...texts, notes.join('\n')].join('\n\n')}\n`);
      return true;
    },
  });
};

export const cpu_us = ({ cpu_s, count }: Result): number => (cpu_s / count) * 1e6;

interface Column {
  readonly head: string;
  readonly kind: Kind;
  of(result: Result): number | undefined;
  readonly digits: number;
  /** Its ratio to the baseline stands beside it. */
  readonly ratio?: true;
}

const [requests, streams] = [{ kind: 'requests' }, { kind: 'streams' }] as const;
const columns: readonly Column[] = [
  { ...requests, head: 'Requests/s', of: ({ count, seconds }) => count / seconds, digits: 0, ratio: true },
  { ...requests, head: 'p50 ms', of: ({ p50_ms }) => p50_ms, digits: 2 },
  { ...requests, head: 'p99 ms', of: ({ p99_ms }) => p99_ms, digits: 2 },
  { ...requests, head: 'CPU µs per request', of: cpu_us, digits: 1, ratio: true },
  { ...streams, head: 'CPU µs per event', of: cpu_us, digits: 1, ratio: true },
  { ...streams, head: 'of the pace', of: ({ pace }) => pace, digits: 2 },
  { ...streams, head: 'KiB per stream', of: ({ stream_bytes = NaN }) => stream_bytes / 1024, digits: 0 },
];

/** The median with its unit; a dash of none. */
const shown = (values: readonly number[], digits: number, unit = ''): string => {
  const middle = median(values.filter(value => !Number.isNaN(value)));
  return Number.isNaN(middle) ? '–' : `${middle.toFixed(digits)}${unit}`;
};

/** What was measured, a row for each contestant. */
function tableText(baseline: string, entries: readonly Entry[]): string {
  const base = entries.find(({ contestant: { name } }) => name === baseline);
  const measured = columns.filter(({ kind }) => entries.some(entry => entry[kind].length > 0));
  const rows = entries.map(entry => {
    const { title } = entry.contestant;
    if (entry.fault) return [`${title}: ${entry.fault.replaceAll(/[\s|]+/g, ' ').slice(0, 200)}`];
    return [title, ...measured.flatMap(column => cellsOf(column, entry, base))];
  });
  const head = measured.flatMap(({ head, ratio }) => [head, ...(ratio ? ['× baseline'] : [])]);
  return markdownTable(['Gateway', ...head], rows);
}

/** Ratios to the baseline are taken round by round: the machine is faster in one round than in another. */
function cellsOf({ kind, of, digits, ratio }: Column, entry: Entry, base: Entry | undefined): string[] {
  const valuesOf = (each: Entry | undefined) => each?.[kind].map(result => of(result) ?? Number.NaN) ?? [];
  const [values, others] = [valuesOf(entry), valuesOf(base)];
  const ratios = values.map((value, round) => value / (others[round] ?? Number.NaN));
  return [shown(values, digits), ...(ratio ? [`${shown(ratios, 2, '×')}${spreadOf(ratios)}`] : [])];
}

/** The least and the most, where they differ. */
function spreadOf(ratios: readonly number[]): string {
  if (ratios.length === 0) return '';
  const [least, most] = [Math.min(...ratios).toFixed(2), Math.max(...ratios).toFixed(2)];
  return least === most || Number.isNaN(ratios[0]) ? '' : ` (${least}–${most})`;
}

/** Notes on contestants whose figures were limited by something else. */
function doubts({ contestant: { name }, requests, streams }: Entry): string[] {
  const loaded = median([...requests, ...streams].map(({ load_cpu_s, seconds }) => load_cpu_s / seconds));
  const pace = median(streams.map(result => result.pace!));
  return [
    loaded > 0.9 && `${name}: generator and upstream used ${Math.round(loaded * 100)} % of their core`,
    pace < 0.97 && `${name}: delivered ${Math.round(pace * 100)} % of the pace`,
  ].filter(note => note !== false);
}
