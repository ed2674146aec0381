import {
  endClassOf,
  type FailurePoint,
  isErrorClass,
  no_model as none,
  type TrafficRange,
} from '../../../src/plugin.ts';
import { pointLabel, pointsIn, type SampleFilters, samplesLink } from '../traffic-range.ts';
import { classTitles } from './error-counts.ts';
import { muted, numberOf, percentOf } from './format.ts';
import { type Html, html } from './html.ts';
import { emptyState, names, numbers, tableOf } from './table.ts';

/** Requests with the same error of the same provider and model. */
interface Cause extends Omit<FailurePoint, 'at_ms'> {
  readonly first_ms: number;
  readonly last_ms: number;
  /** By point of the range. */
  readonly counts: readonly number[];
}

const max_shown = 10;

/** Why requests of a range ended with an error: the most frequent causes, whose they are, since when, and the requests themselves one link away. */
export function failureTable(
  failures: readonly FailurePoint[],
  range: TrafficRange,
  filters: SampleFilters,
): Html {
  const causes = causesOf(failures, range);
  const all = causes.reduce((sum, { requests }) => sum + requests, 0);
  const shown = causes.slice(0, max_shown);
  const time = (at_ms: number) => html`<span class="nowrap">${pointLabel(at_ms, range)}</span>`;
  const table = tableOf<Cause>(
    'Errors by cause',
    [
      names('Error', cause => errorOf(cause, range, filters)),
      { title: 'Counts as', cell: classOf },
      names('Provider', ({ provider }) => provider || muted('none asked')),
      names('Model', ({ model }) => model || muted('none known')),
      numbers('Requests', ({ requests }) => numberOf(requests)),
      numbers('Of all errors', ({ requests }) => percentOf(requests / all)),
      { title: 'First', cell: ({ first_ms }) => time(first_ms) },
      { title: 'Last', cell: ({ last_ms }) => time(last_ms) },
      { title: 'Over time', cell: ({ counts }) => sparkBars(counts) },
    ],
    shown,
    emptyState(
      'No request ended with an error in this time.',
      'Requests without a valid key are in the metrics only.',
    ),
  );
  const rest = causes.length - shown.length;
  return html`${table}${rest > 0 && html`<p class="muted">${numberOf(rest)} rarer causes are among <a href="${samplesLink(range.from_ms, range.until_ms, { ...filters, end: 'failed' })}">all requests with an error</a>.</p>`}`;
}

function causesOf(failures: readonly FailurePoint[], range: TrafficRange): Cause[] {
  const places = new Map(pointsIn(range).map((at_ms, at) => [at_ms, at]));
  const kinds = Map.groupBy(failures, ({ provider, model, error_type, end_reason }) =>
    [provider, model, error_type, end_reason].join('\n'),
  );
  const causes = [...kinds.values()].map((points): Cause => {
    const counts = Array<number>(places.size).fill(0);
    for (const { at_ms, requests } of points) counts[places.get(at_ms) ?? 0]! += requests;
    const requests = points.reduce((sum, point) => sum + point.requests, 0);
    return { ...points[0]!, first_ms: points[0]!.at_ms, last_ms: points.at(-1)!.at_ms, requests, counts };
  });
  return causes.sort((a, b) => b.requests - a.requests);
}

function errorOf(
  { error_type, end_reason, provider, model }: Cause,
  { from_ms, until_ms }: TrafficRange,
  filters: SampleFilters,
): Html {
  const own = { error_type, end: end_reason, provider: provider || none, model: model || none };
  return html`<a href="${samplesLink(from_ms, until_ms, { ...filters, ...own })}"><code>${error_type}</code></a> ${muted(end_reason)}`;
}

function classOf({ end_reason, error_type }: Cause): Html | string {
  const end = endClassOf(end_reason, error_type);
  return isErrorClass(end)
    ? html`<span class="nowrap">${classTitles[end].toLowerCase()}</span>`
    : muted('no error');
}

function sparkBars(counts: readonly number[]): Html {
  const highest = Math.max(...counts);
  return html`<svg class="spark" aria-hidden="true" viewBox="0 0 ${counts.length} 1" preserveAspectRatio="none">${counts.map(
    (count, at) => {
      const tall = (count / highest).toFixed(3);
      return count > 0 && html`<rect x="${at + 0.1}" y="${1 - Number(tall)}" width="0.8" height="${tall}"/>`;
    },
  )}</svg>`;
}
