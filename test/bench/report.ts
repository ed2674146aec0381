import type { Entry, Streamed } from './entry.ts';
import type { Window } from './jobs.ts';
import { disturbance, type Machine } from './machine.ts';
import { foot } from './method.ts';
import type { Options } from './options.ts';
import { median } from './statistics.ts';
import { markdownTable } from './table.ts';

const head = [
  'Gateway',
  'Requests/s',
  '× baseline',
  'p50 ms',
  'p99 ms',
  'CPU µs per request',
  'CPU µs per event',
  '× baseline',
];
const nothing = '–';
/** A core that was used more than this may have been the bottleneck. */
const busy_share = 0.9;
/** Fewer events than this share of the pace: the contestant did not keep up. */
const kept_pace_share = 0.97;

/** Medians over rounds. NaN: not measured. */
interface Figures {
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly request_us: number;
  readonly event_us: number;
}

const gatewayCpu = (result: Window): number => result.gateway_cpu_s ?? Number.NaN;

function figuresOf({ requests }: Entry, streamed: Streamed | undefined): Figures {
  const of = <T>(results: readonly T[], read: (result: T) => number) => median(results.map(read));
  return {
    per_second: of(requests, result => result.requests / result.seconds),
    p50_ms: of(requests, result => result.p50_ms),
    p99_ms: of(requests, result => result.p99_ms),
    request_us: of(requests, result => (gatewayCpu(result) / result.requests) * 1e6),
    event_us: of(streamed?.results ?? [], result => (gatewayCpu(result) / result.events) * 1e6),
  };
}

/** The whole result as Markdown: where it was made, the table, how to read it, what to doubt. */
export function reportOf(
  entries: readonly Entry[],
  baseline_name: string,
  machine: Machine,
  options: Options,
  command: string,
): string {
  const reference = entries.find(({ contestant }) => contestant.name === baseline_name);
  const base = reference && figuresOf(reference, reference.streamed[0]);
  const rows = entries.flatMap(entry => rowsOf(entry, base));
  const doubts = [...disturbance(machine), ...entries.flatMap(doubtsOf)];
  const place = `${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}`;
  return [
    `${place}\n\`${command}\``,
    markdownTable(head, rows),
    list([...versionsOf(entries), ...foot(options, baseline_name)]),
    ...(doubts.length > 0 ? [`Doubtful:\n\n${list(doubts)}`] : []),
    '',
  ].join('\n\n');
}

const list = (lines: readonly string[]): string => lines.map(line => `- ${line}`).join('\n');

function versionsOf(entries: readonly Entry[]): string[] {
  const told = entries.filter(({ gateway }) => gateway?.version);
  return told.length === 0
    ? []
    : [told.map(({ contestant, gateway }) => `${contestant.name} ${gateway?.version}`).join('; ')];
}

function rowsOf(entry: Entry, base: Figures | undefined): string[][] {
  const { contestant, requests, streamed, fault } = entry;
  if (fault && requests.length === 0)
    return [[`${contestant.title}: not measured`, ...head.slice(1).map(() => nothing)]];
  const first = figuresOf(entry, streamed[0]);
  const row = [
    contestant.title,
    shown(first.per_second, 0),
    ratio(first.per_second, base?.per_second),
    shown(first.p50_ms, 2),
    shown(first.p99_ms, 2),
    shown(first.request_us, 1),
    ...eventCells(first, base),
  ];
  const further = streamed.slice(1).map(variant => {
    const cells = eventCells(figuresOf(entry, variant), base);
    const empty = head.slice(1, head.length - cells.length).map(() => nothing);
    return [contestant.title + variant.variant.suffix, ...empty, ...cells];
  });
  return [row, ...further];
}

const eventCells = ({ event_us }: Figures, base: Figures | undefined): string[] => [
  shown(event_us, 1),
  ratio(event_us, base?.event_us),
];

const oneLine = (text: string): string => text.replaceAll(/[\s|]+/g, ' ').slice(0, 300);
const shown = (value: number, digits: number): string =>
  Number.isNaN(value) ? nothing : value.toFixed(digits);
const ratio = (value: number, base: number | undefined): string =>
  base === undefined || Number.isNaN(value / base) ? nothing : `${(value / base).toFixed(2)}×`;

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
