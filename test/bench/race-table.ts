import type { Race } from './contestants.ts';
import type { Entry } from './entry.ts';
import { type Figures, figuresOf, nothing, ratio, shown } from './figures.ts';
import { markdownTable } from './table.ts';

const head = ['Gateway', 'Requests/s', '× baseline', 'p50 ms', 'p99 ms', 'CPU µs per request'];
const streamHead = ['CPU µs per event', '× baseline'];

/** One race as Markdown, of those entries that take part in it; nothing if none does. */
export function raceTable({ title, baseline, contestants }: Race, entries: readonly Entry[]): string[] {
  const racing = entries.filter(({ contestant }) => contestants.includes(contestant));
  if (racing.length === 0) return [];
  const reference = racing.find(({ contestant }) => contestant === baseline);
  const base = reference && figuresOf(reference, reference.streamed[0]);
  const streams = racing.some(({ streamed }) => streamed.some(({ results }) => results.length > 0));
  const columns = streams ? [...head, ...streamHead] : head;
  const rows = racing.flatMap(entry => rowsOf(entry, base).slice(0, streams ? undefined : 1));
  return [
    `**${title}**, × baseline: divided by ${baseline.title}`,
    markdownTable(
      columns,
      rows.map(row => columns.map((_, column) => row[column] ?? nothing)),
    ),
  ];
}

function rowsOf(entry: Entry, base: Figures | undefined): string[][] {
  const { contestant, requests, streamed, fault } = entry;
  if (fault && requests.length === 0) return [[`${contestant.title}: not measured`]];
  const first = figuresOf(entry, streamed[0]);
  const row = [
    contestant.title,
    shown(first.per_second, 0),
    ratio(first.rounds.per_second, base?.rounds.per_second),
    shown(first.p50_ms, 2),
    shown(first.p99_ms, 2),
    shown(first.request_us, 1),
    ...eventCells(first, base),
  ];
  const further = streamed.slice(1).map(variant => {
    const empty = head.slice(1).map(() => nothing);
    return [
      contestant.title + variant.variant.suffix,
      ...empty,
      ...eventCells(figuresOf(entry, variant), base),
    ];
  });
  return [row, ...further];
}

const eventCells = ({ event_us, rounds }: Figures, base: Figures | undefined): string[] => [
  shown(event_us, 1),
  ratio(rounds.event_us, base?.rounds.event_us),
];
