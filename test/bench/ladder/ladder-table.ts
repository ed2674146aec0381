import { markdownTable, median } from '../figures.ts';
import type { Entry, Kind } from '../measurement.ts';
import { cpu_us } from '../result-table.ts';
import type { Table } from '../tables.ts';
import { type RungName, rungNames, rungs } from './rungs.ts';

/** Share of the whole above which a rung must say why. */
const much = 0.04;

/** What a rung costs in all, and beyond the rung below; in µs, of each round. */
interface Step {
  readonly name: RungName;
  readonly cpu_us: readonly number[];
  readonly more_us: readonly number[];
  /** `more_us` as a share of the whole chain's cost. */
  readonly share: number;
}

/** The steps of a ladder; a rung that has no figures is left out, and the next one is compared with the one below it. */
export function stepsOf(entries: readonly Entry[], kind: Kind): Step[] {
  const measured = entries.filter(entry => !entry.fault && entry[kind].length > 0);
  const whole = measured.at(-1)?.[kind].map(cpu_us) ?? [];
  return measured.map((entry, at) => {
    const own = entry[kind].map(cpu_us);
    const below = measured[at - 1]?.[kind].map(cpu_us);
    const more_us = own.map((value, round) => value - (below?.[round] ?? 0));
    const share = median(more_us.map((value, round) => value / whole[round]!));
    return { name: rungOf(entry), cpu_us: own, more_us, share };
  });
}

const rungOf = ({ contestant: { name } }: Entry): RungName =>
  rungNames.find(rung => name === `rung-${rung}`) ?? 'sidecar';

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const span = (values: readonly number[]): string =>
  `${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)}`;

function cellsOf(step: Step | undefined, isFirst: boolean): string[] {
  if (!step) return ['–', '–', '–', '–', '–'];
  const { cpu_us, more_us, share } = step;
  const cost = [median(cpu_us).toFixed(1), span(cpu_us)];
  if (isFirst) return [...cost, '', '', percent(share)];
  const more = median(more_us);
  return [...cost, `${more < 0 ? '' : '+'}${more.toFixed(1)}`, span(more_us), percent(share)];
}

/** The rungs as a table, and under it a line for each that costs more than 4 % of the whole. */
export function ladderText({ title, contestants }: Table, entries: ReadonlyMap<string, Entry>): string {
  const measured = contestants.map(({ name }) => entries.get(name)!);
  const steps = { requests: stepsOf(measured, 'requests'), streams: stepsOf(measured, 'streams') };
  const rows = measured.map((entry, at) => {
    const name = rungOf(entry);
    const cells = (['requests', 'streams'] as const).flatMap(kind =>
      cellsOf(
        steps[kind].find(step => step.name === name),
        at === 0,
      ),
    );
    const fault = entry.fault ? `: ${entry.fault.replaceAll(/[\s|]+/g, ' ').slice(0, 200)}` : '';
    return [`${at === 0 ? '' : '+ '}${name}: ${rungs[name].title}${fault}`, ...cells];
  });
  const head = ['request', 'event'].flatMap(unit => [
    `µs per ${unit}`,
    'rounds',
    'more',
    'rounds',
    'of the whole',
  ]);
  const table = markdownTable(['Rung', ...head], rows);
  return `**${title}**, CPU time; each rung has all parts above it\n\n${table}\n\n${reasons(steps).join('\n')}`;
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
