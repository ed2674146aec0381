import { gateway_core, load_core } from './children.ts';
import type { CrowdResult } from './crowd-jobs.ts';
import type { ReadersResult } from './crowd-readers.ts';
import type { CrowdRow } from './crowd-run.ts';
import { disturbance, type Machine } from './machine.ts';
import { markdownTable } from './table.ts';

const crowdHead = [
  'Streams',
  'Tokens/s each',
  'Events/s',
  'CPU µs per event',
  "Gateway's core",
  'Memory per stream KiB',
  'p99 gap direct ms',
  'p99 gap through ms',
  'Added ms',
];
/** A core that was used more than this may have been the bottleneck. */
const busy_share = 0.9;
const kept_pace_share = 0.97;

/** The crowds as Markdown: where it was made, the table, how to read it, what to doubt. */
export function crowdReport(rows: readonly CrowdRow[], machine: Machine, command: string): string {
  const doubts = [...disturbance(machine), ...rows.flatMap(doubtsOf)];
  const notes = [
    `The sidecar alone on core ${gateway_core}, clients and the simulated upstream on core ${load_core}, all on loopback; the whole ` +
      'default chain, a key, metrics on, log level warn, run from its TypeScript sources. Every stream asks for `continuous_usage_stats`.',
    'Memory: how much more resident memory the process has while all streams run than before the first, divided by streams; the kernel’s ' +
      'buffers are not in it.',
    'Gap: time between two events of a stream as its client sees them; direct: the same load without the gateway. Added is their difference.',
  ];
  return [
    placeOf(machine, command),
    markdownTable(crowdHead, rows.map(crowdCells)),
    list(notes),
    ...(doubts.length > 0 ? [`Doubtful:\n\n${list(doubts)}`] : []),
    '',
  ].join('\n\n');
}

/** The clients that never read, as Markdown. */
export function readersReport(result: ReadersResult, machine: Machine, command: string): string {
  const { readers, idle, full, end } = result;
  const each = (bytes: number) => `${(bytes / readers / 1024).toFixed(0)} KiB`;
  const held = (vitals: typeof idle) => vitals.heap_bytes + vitals.external_bytes;
  const rows = [
    ['resident memory per reader', each(result.full_rss_bytes - idle.rss_bytes)],
    ['heap and buffers per reader, garbage included', each(held(full) - held(idle))],
    ["the kernel's buffers per reader, of all processes", each(result.kernel_bytes)],
    ['until all buffers were full', `${result.filled_s.toFixed(0)} s`],
    ['another client’s whole reply meanwhile', `${result.other_ms.toFixed(0)} ms`],
    [`cut after ${result.slow_client_ms / 1000} s and settled as slow_client`, `${result.cut} of ${readers}`],
    ['in flight afterwards', String(end.in_flight)],
    ['open files before and afterwards', `${idle.open_files}, ${end.open_files}`],
    [
      'heap and buffers afterwards',
      `${((held(end) - held(idle)) / 2 ** 20).toFixed(0)} MiB more than before`,
    ],
  ];
  const doubts = disturbance(machine);
  return [
    placeOf(machine, command),
    markdownTable([`${readers} endless streams that nobody reads`, ''], rows),
    ...(doubts.length > 0 ? [`Doubtful:\n\n${list(doubts)}`] : []),
    '',
  ].join('\n\n');
}

const placeOf = (machine: Machine, command: string): string =>
  `${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}\n\`${command}\``;

const list = (lines: readonly string[]): string => lines.map(line => `- ${line}`).join('\n');
const shown = (value: number | undefined, digits: number): string =>
  value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits);
const percent = (share: number): string => `${Math.round(share * 100)} %`;

function crowdCells({ crowd, direct, through, idle_rss_bytes }: CrowdRow): string[] {
  const added = through && direct && through.gap_p99_ms - direct.gap_p99_ms;
  return [
    String(crowd.streams),
    String(crowd.tokens_per_second),
    shown(through && through.events / through.seconds, 0),
    shown(through && (through.gateway_cpu_s / through.events) * 1e6, 1),
    through ? percent(through.gateway_cpu_s / through.seconds) : '–',
    shown(through && (through.gateway_rss_bytes - idle_rss_bytes) / crowd.streams / 1024, 1),
    shown(direct?.gap_p99_ms, 1),
    shown(through?.gap_p99_ms, 1),
    shown(added, 1),
  ];
}

/** Where something else than the gateway made a figure. */
function doubtsOf({ crowd, direct, through, faults }: CrowdRow): string[] {
  const name = `${crowd.streams} streams`;
  const doubts = faults.map(fault => `${name}, ${fault}`);
  for (const [way, result] of [
    ['without the gateway', direct],
    ['through the gateway', through],
  ] as const) {
    if (!result) continue;
    const loaded = loadShare(result);
    if (loaded > busy_share)
      doubts.push(
        `${name}, ${way}: clients and upstream used ${percent(loaded)} of their core and are the bottleneck`,
      );
    const kept = result.events / result.due_events;
    if (kept < kept_pace_share)
      doubts.push(`${name}, ${way}: only ${percent(kept)} of the pace was delivered`);
  }
  if (through && through.gateway_cpu_s / through.seconds > busy_share)
    doubts.push(`${name}: the gateway's core was full`);
  return doubts;
}

const loadShare = ({ client_cpu_s, upstream_cpu_s, seconds }: CrowdResult): number =>
  (client_cpu_s + upstream_cpu_s) / seconds;
