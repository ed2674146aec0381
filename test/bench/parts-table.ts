import type { Part } from './contestants.ts';
import type { Cost } from './costs.ts';
import type { Entry } from './entry.ts';
import { figuresOf, nothing, ratio, shown } from './figures.ts';
import { markdownTable } from './table.ts';

const head = [
  'Part of sluice',
  'Requests/s with it',
  'without',
  'with ÷ without',
  'added CPU µs per request',
];

/** What parts cost, as Markdown: those of which both sides were measured, and those counted alone; nothing if there is none. */
export function partsTable(
  parts: readonly Part[],
  entries: readonly Entry[],
  costs: readonly Cost[],
): string[] {
  const rows = parts.flatMap(part => rowOf(part, entries));
  for (const { title, added_us } of costs) rows.push([title, nothing, nothing, nothing, shown(added_us, 1)]);
  return rows.length === 0
    ? []
    : ['**Parts of sluice**, each as the difference of two sidecars', markdownTable(head, rows)];
}

function rowOf(part: Part, entries: readonly Entry[]): string[][] {
  const [on, off] = [part.with, part.without].map(sought =>
    entries.find(({ contestant, requests }) => contestant === sought && requests.length > 0),
  );
  if (!on || !off) return [];
  const [more, less] = [figuresOf(on), figuresOf(off)];
  return [
    [
      part.title,
      shown(more.per_second, 0),
      shown(less.per_second, 0),
      ratio(more.rounds.per_second, less.rounds.per_second),
      shown(more.request_us - less.request_us, 1),
    ],
  ];
}
