import { gateways, parts, passthrough, passthroughOfBatches } from './contestants.ts';
import type { Cost } from './costs.ts';
import type { Entry } from './entry.ts';
import { gatewayCpu } from './figures.ts';
import type { Window } from './jobs.ts';
import { disturbance, type Machine } from './machine.ts';
import { foot } from './method.ts';
import type { Options } from './options.ts';
import { partsTable } from './parts-table.ts';
import { raceTable } from './race-table.ts';
import { median } from './statistics.ts';

/** A core that was used more than this may have been the bottleneck. */
const busy_share = 0.9;
/** Fewer events than this share of the pace: the contestant did not keep up. */
const kept_pace_share = 0.97;

/** What was measured. */
export interface Measurements {
  readonly entries: readonly Entry[];
  readonly costs: readonly Cost[];
}

/** The whole result as Markdown: where it was made, the tables, how to read them, what to doubt. */
export function reportOf(
  { entries, costs }: Measurements,
  machine: Machine,
  options: Options,
  command: string,
): string {
  const doubts = [...disturbance(machine), ...entries.flatMap(doubtsOf)];
  const place = `${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}`;
  return [
    `${place}\n\`${command}\``,
    ...raceTable(gateways, entries),
    ...raceTable(passthrough, entries),
    ...raceTable(passthroughOfBatches, entries),
    ...partsTable(parts, entries, costs),
    list([...versionsOf(entries), ...spansOf(entries), ...foot(options)]),
    ...(doubts.length > 0 ? [`Doubtful:\n\n${list(doubts)}`] : []),
    '',
  ].join('\n\n');
}

const list = (lines: readonly string[]): string => lines.map(line => `- ${line}`).join('\n');

/** Each version once: contestants that are the same program are told together. */
function versionsOf(entries: readonly Entry[]): string[] {
  const versions = new Map<string, string>();
  for (const { contestant, gateway } of entries) {
    const program = contestant.title.split(/[ ,]/)[0] ?? contestant.name;
    if (gateway?.version && !versions.has(program)) versions.set(program, gateway.version);
  }
  return versions.size === 0 ? [] : [[...versions].map(told => told.join(' ')).join('; ')];
}

/** How much of what was traced has arrived. */
const spansOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ contestant, spans, replies }) =>
    spans === undefined
      ? []
      : [`${contestant.title}: ${(spans / replies).toFixed(1)} spans per exchange have arrived.`],
  );

const oneLine = (text: string): string => text.replaceAll(/[\s|]+/g, ' ').slice(0, 300);

/** Where a contestant was not what limited its own figure. */
function doubtsOf({ contestant, requests, streamed, fault }: Entry): string[] {
  const doubts = fault ? [`${contestant.name} was left out: ${oneLine(fault)}`] : [];
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const loaded = median([...requests].map(loadShare));
  if (loaded > busy_share)
    doubts.push(`${contestant.name}: generator and upstream used ${percent(loaded)} of their core`);
  const used = median(requests.map(result => gatewayCpu(result) / result.seconds));
  if (used < busy_share) doubts.push(`${contestant.name}: got or used only ${percent(used)} of its core`);
  for (const { variant, results } of streamed) {
    const kept = median(results.map(({ events, expected_events }) => events / expected_events));
    if (kept < kept_pace_share)
      doubts.push(`${contestant.name}${variant.suffix}: delivered only ${percent(kept)} of the pace`);
    const streaming = median(results.map(loadShare));
    if (streaming > busy_share)
      doubts.push(
        `${contestant.name}${variant.suffix}: generator and upstream used ${percent(streaming)} while streaming`,
      );
  }
  return doubts;
}

const loadShare = ({ generator_cpu_s, upstream_cpu_s, seconds }: Window): number =>
  (generator_cpu_s + upstream_cpu_s) / seconds;
