import { least, markdownTable, quantile } from '../figures.ts';
import type { Entry, Kind } from '../measurement.ts';
import { cpu_us } from '../result-table.ts';
import type { Table } from '../tables.ts';
import { type RungName, rungNames, rungs } from './rungs.ts';

/** Share of the whole above which a rung must say why. */
const much = 0.04;

/** What a rung costs in all, and beyond the rung below, in µs: by the least tenth of the rounds. */
interface Step {
  readonly name: RungName;
  /** Of each round. */
  readonly cpu_us: readonly number[];
  readonly least_us: number;
  readonly more_us: number;
  /** `more_us` as a share of the whole chain's cost. */
  readonly share: number;
}

/** The steps of a ladder; a rung that has no figures is left out, and the next one is compared with the one below it. */
export function stepsOf(entries: readonly Entry[], kind: Kind): Step[] {
  const measured = entries
    .filter(entry => !entry.fault && entry[kind].length > 0)
    .map(entry => ({ name: rungOf(entry), cpu_us: entry[kind].map(cpu_us) }));
  const costs = measured.map(({ cpu_us }) => least(cpu_us));
  return measured.map((rung, at) => {
    const least_us = costs[at]!;
    const more_us = least_us - (costs[at - 1] ?? 0);
    return { ...rung, least_us, more_us, share: more_us / costs.at(-1)! };
  });
}

const rungOf = ({ contestant: { name } }: Entry): RungName =>
  rungNames.find(rung => name === `rung-${rung}`) ?? 'sidecar';

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const middleHalf = (values: readonly number[]): string =>
  `${quantile(values, 0.25).toFixed(0)}–${quantile(values, 0.75).toFixed(0)}`;

function cellsOf(step: Step | undefined, isFirst: boolean): string[] {
  if (!step) return ['–', '–', '–', '–'];
  const { cpu_us, least_us, more_us, share } = step;
  const more = isFirst ? '' : `${more_us < 0 ? '' : '+'}${more_us.toFixed(1)}`;
  return [least_us.toFixed(1), middleHalf(cpu_us), more, percent(share)];
}

/** The rungs as a table, and under it a line for each that costs more than 4 % of the whole. */
export function ladderText({ title, contestants }: Table, entries: ReadonlyMap<string, Entry>): string {
  const measured = contestants.map(({ name }) => entries.get(name)!);
  const steps = { requests: stepsOf(measured, 'requests'), streams: stepsOf(measured, 'streams') };
  const kinds = (['requests', 'streams'] as const).filter(kind => steps[kind].length > 0);
  const rows = measured.map((entry, at) => {
    const name = rungOf(entry);
    const cells = kinds.flatMap(kind =>
      cellsOf(
        steps[kind].find(step => step.name === name),
        at === 0,
      ),
    );
    const fault = entry.fault ? `: ${entry.fault.replaceAll(/[\s|]+/g, ' ').slice(0, 200)}` : '';
    return [`${at === 0 ? '' : '+ '}${name}: ${rungs[name].title}${fault}`, ...cells];
  });
  const units = { requests: 'request', streams: 'event' };
  const head = kinds.flatMap(kind => [`µs per ${units[kind]}`, 'middle half', 'more', 'of the whole']);
  const table = markdownTable(['Rung', ...head], rows);
  return `**${title}**, CPU time in the least tenth of the rounds, and what half of them lay between; each rung has all parts above it\n\n${table}\n\n${reasons(steps).join('\n')}`;
}

function reasons({ requests, streams }: Record<Kind, readonly Step[]>): string[] {
  return rungNames.flatMap(name => {
    const shares = [
      ['a request', requests.find(step => step.name === name)?.share ?? 0] as const,
      ['an event', streams.find(step => step.name === name)?.share ?? 0] as const,
    ].filter(([, share]) => share > much);
    if (shares.length === 0) return [];
    const { why = 'the reason is missing in `test/bench/ladder/rungs.ts`.' } = rungs[name];
    return [
      `- **${name}**, ${shares.map(([of, share]) => `${percent(share)} of ${of}`).join(' and ')}: ${why}`,
    ];
  });
}
