import { errorClasses, type TrafficRange, type TrafficSplit } from '../../../src/plugin.ts';
import {
  failureRateOf,
  firstTokenWithin,
  type TrafficGroup,
  type TrafficSum,
  totalOf,
} from '../traffic-groups.ts';
import { pointLabel, pointsIn, samplesLink } from '../traffic-range.ts';
import { classTitles } from './error-counts.ts';
import { muted, numberOf, secondsOf } from './format.ts';
import { type Html, html } from './html.ts';
import { type Column, tableOf } from './table.ts';
import { type TrendSeries, trendChart } from './trend.ts';

/** Requests over time, by group. */
export interface Traffic {
  readonly range: TrafficRange;
  readonly split: TrafficSplit;
  readonly groups: readonly TrafficGroup[];
}

const splitTitles: Readonly<Record<TrafficSplit, string>> = {
  provider: 'Provider',
  model: 'Model',
  error_type: 'Error type',
};

/** `0 %`, `0.12 %`, `34.5 %`. */
export const percentOf = (share: number): string =>
  `${Number((share * 100).toFixed(share < 0.01 ? 2 : 1))}\u00a0%`;

/** One figure of a sum, and how it is shown. */
const rate = (share: number | undefined): string | Html =>
  share === undefined ? muted('–') : percentOf(share);
const waited = (ms: number | undefined): string => secondsOf(ms === undefined ? null : Math.round(ms));

/** Requests, failure rate and time to the first token as pictures, each part of which leads to its requests. */
export function trafficCharts({ range, split, groups }: Traffic): Html {
  const times = pointsIn(range);
  const labels = times.map(at_ms => pointLabel(at_ms, range));
  const all = totalOf(groups.map(({ total }) => total));
  const point = (at: number) => [times[at]!, times[at]! + range.point_ms] as const;
  const failed = { end: 'service_failed' };
  const seriesOf = (
    values: (group: TrafficGroup) => readonly (number | undefined)[],
    amount: (value: number) => string,
    filters = {},
  ) =>
    groups.map((group): TrendSeries => {
      const of = values(group);
      return {
        series: group.series,
        values: of,
        titleOf: at => `${labels[at]}, ${group.title}: ${amount(of[at] ?? 0)}`,
        linkOf: at => samplesLink(...point(at), { ...filters, ...group.filters }),
      };
    });
  const requestsAt = times.map((_, at) => groups.reduce((sum, { points }) => sum + points[at]!.requests, 0));
  const waits = (share: number) =>
    seriesOf(({ points }) => points.map(sum => firstTokenWithin(sum, share)), waited);
  const columnLink = (at: number) => samplesLink(...point(at));
  return html`<div class="trends">
${trendChart({
  title: 'Requests',
  figure: html`<a href="${samplesLink(range.from_ms, range.until_ms)}">${numberOf(all.requests)}</a>`,
  labels,
  columnLink,
  kind: 'bars',
  amount: numberOf,
  least: 2,
  series: seriesOf(({ points }) => points.map(({ requests }) => requests), numberOf),
})}
${trendChart({
  title: 'Failed, by providers or the gateway',
  figure: html`<a href="${samplesLink(range.from_ms, range.until_ms, failed)}">${rate(failureRateOf(all))}</a>`,
  labels,
  columnLink: at => samplesLink(...point(at), failed),
  kind: 'lines',
  amount: percentOf,
  least: 0.01,
  series: seriesOf(
    ({ points }) =>
      points.map((sum, at) => failureRateOf(sum, ofAll(split) ? requestsAt[at]! : sum.requests)),
    percentOf,
    failed,
  ),
})}
${trendChart({
  title: `First token${split === 'provider' ? ' of attempts' : ''}, p50 · p95`,
  figure: `${waited(firstTokenWithin(all, 0.5))} · ${waited(firstTokenWithin(all, 0.95))}`,
  labels,
  columnLink,
  kind: 'lines',
  amount: waited,
  least: 100,
  series: [...waits(0.5).map(each => ({ ...each, isDashed: true })), ...waits(0.95)],
})}
</div>`;
}

/** The rate of a type of error is its share of all requests. */
const ofAll = (split: TrafficSplit): boolean => split === 'error_type';

interface Line {
  readonly title: Html | string;
  readonly sum: TrafficSum;
  readonly from_ms: number;
  readonly until_ms: number;
  readonly filters: TrafficGroup['filters'];
  /** Of which the errors are a share. */
  readonly all: number;
}

const figures: readonly Column<Line>[] = [
  {
    title: 'Requests',
    cell: ({ sum, from_ms, until_ms, filters }) =>
      html`<a href="${samplesLink(from_ms, until_ms, filters)}">${numberOf(sum.requests)}</a>`,
    isNumber: true,
  },
  ...errorClasses.map(
    (end): Column<Line> => ({
      title: classTitles[end],
      cell: ({ sum, all, from_ms, until_ms, filters }) =>
        sum[end] === 0
          ? '0'
          : html`<a href="${samplesLink(from_ms, until_ms, { ...filters, end })}">${numberOf(sum[end])}</a> ${muted(percentOf(sum[end] / all))}`,
      isNumber: true,
    }),
  ),
  { title: 'First token p50', cell: ({ sum }) => waited(firstTokenWithin(sum, 0.5)), isNumber: true },
  { title: 'p95', cell: ({ sum }) => waited(firstTokenWithin(sum, 0.95)), isNumber: true },
];

/** What each group adds up to in the whole range; the legend of the pictures. */
export function groupTable({ range, split, groups }: Traffic): Html {
  const { from_ms, until_ms } = range;
  const all = totalOf(groups.map(({ total }) => total));
  const lines = groups.map(({ title, series, total, filters }) => ({
    title: html`<span class="key"><svg class="swatch" aria-hidden="true" viewBox="0 0 1 1"><rect class="series-${series}" width="1" height="1"/></svg> ${title}</span>`,
    sum: total,
    from_ms,
    until_ms,
    filters,
    all: ofAll(split) ? all.requests : total.requests,
  }));
  const together: Line = { title: 'all', sum: all, from_ms, until_ms, filters: {}, all: all.requests };
  return tableOf<Line>(
    `Traffic by ${splitTitles[split].toLowerCase()}`,
    [{ title: splitTitles[split], cell: ({ title }) => title, isName: true }, ...figures],
    lines.length > 1 ? [...lines, together] : lines,
  );
}

/** The figures of the pictures as a table with the same links, the newest first. */
export function pointTable({ range, split, groups }: Traffic): Html {
  const times = pointsIn(range);
  const lines = times.flatMap((from_ms, at) => {
    const all = groups.reduce((sum, { points }) => sum + points[at]!.requests, 0);
    return groups
      .filter(({ points }) => points[at]!.requests > 0)
      .map(({ title, points, filters }) => ({
        time: pointLabel(from_ms, range),
        title,
        sum: points[at]!,
        from_ms,
        until_ms: from_ms + range.point_ms,
        filters,
        all: ofAll(split) ? all : points[at]!.requests,
      }));
  });
  return tableOf<(typeof lines)[number]>(
    'Traffic over time',
    [
      { title: 'Time', cell: ({ time }) => html`<span class="nowrap">${time}</span>` },
      { title: splitTitles[split], cell: ({ title }) => title, isName: true },
      ...figures,
    ],
    lines.reverse(),
  );
}
