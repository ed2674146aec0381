import { least, markdownTable, quantile } from '../../figures.ts';
import type { Entry, Kind } from '../measurement.ts';
import { cpu_us } from '../result-table.ts';
import type { Table } from '../tables.ts';
import { type RungName, rungNames, rungs } from './rungs.ts';

/** Share of the rounds in which a rung must cost more than the one below it, or less, for the difference to be told. */
const most = 0.9;

/** What a rung costs, in µs. */
interface Step {
  readonly name: RungName;
  /** Of each round. */
  readonly cpu_us: readonly number[];
  readonly least_us: number;
  /** The median difference from the rung below over the rounds, which take turns; undefined where it is within their spread. */
  readonly more_us: number | undefined;
}

/** The steps of a ladder; a rung that has no figures is left out, and the next one is compared with the one below it. */
export function stepsOf(entries: readonly Entry[], kind: Kind): Step[] {
  const measured = entries
    .filter(entry => !entry.fault && entry[kind].length > 0)
    .map(entry => ({ name: rungOf(entry), cpu_us: entry[kind].map(cpu_us) }));
  return measured.map((rung, at) => ({
    ...rung,
    least_us: least(rung.cpu_us),
    more_us: differenceOf(measured[at - 1]?.cpu_us, rung.cpu_us),
  }));
}

function differenceOf(below: readonly number[] | undefined, rung: readonly number[]): number | undefined {
  if (!below) return undefined;
  const differences = rung.slice(0, below.length).map((cost, round) => cost - below[round]!);
  const isTold = quantile(differences, 1 - most) > 0 || quantile(differences, most) < 0;
  return isTold ? quantile(differences, 0.5) : undefined;
}

const rungOf = ({ contestant: { name } }: Entry): RungName =>
  rungNames.find(rung => name === `rung-${rung}`) ?? 'sidecar';

const middleHalf = (values: readonly number[]): string =>
  `${quantile(values, 0.25).toFixed(0)}–${quantile(values, 0.75).toFixed(0)}`;

function cellsOf(step: Step | undefined): string[] {
  if (!step) return ['–', '–', '–'];
  const { cpu_us, least_us, more_us } = step;
  const more = more_us === undefined ? '' : `${more_us < 0 ? '' : '+'}${more_us.toFixed(1)}`;
  return [least_us.toFixed(1), middleHalf(cpu_us), more];
}

/** The rungs as a table. A difference stands where nine of ten rounds have it; no other is told. */
export function ladderText({ title, contestants }: Table, entries: ReadonlyMap<string, Entry>): string {
  const measured = contestants.map(({ name }) => entries.get(name)!);
  const steps = { requests: stepsOf(measured, 'requests'), streams: stepsOf(measured, 'streams') };
  const kinds = (['requests', 'streams'] as const).filter(kind => steps[kind].length > 0);
  const rows = measured.map((entry, at) => {
    const name = rungOf(entry);
    const cells = kinds.flatMap(kind => cellsOf(steps[kind].find(step => step.name === name)));
    const fault = entry.fault ? `: ${entry.fault.replaceAll(/[\s|]+/g, ' ').slice(0, 200)}` : '';
    return [`${at === 0 ? '' : '+ '}${name}: ${rungs[name].title}${fault}`, ...cells];
  });
  const units = { requests: 'request', streams: 'event' };
  const head = kinds.flatMap(kind => [`µs per ${units[kind]}`, 'middle half', 'more than above']);
  const table = markdownTable(['Rung', ...head], rows);
  return `**${title}**, CPU time in the least tenth of the rounds, and what half of them lay between; each rung has all parts above it. A difference is told where nine of ten rounds have it\n\n${table}`;
}
