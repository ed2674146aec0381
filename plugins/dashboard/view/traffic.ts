import { errorClasses, type TrafficRange, type TrafficSplit } from '../../../src/plugin.ts';
import {
  failureRateOf,
  firstTokenWithin,
  type TrafficGroup,
  type TrafficSum,
  totalOf,
} from '../traffic-groups.ts';
import { pointLabel, pointsIn, samplesLink } from '../traffic-range.ts';
import { type Chart, type ChartSeries, chart, swatch } from './chart.ts';
import { classTitles } from './error-counts.ts';
import { muted, numberOf, percentOf, roundedSecondsOf as waited } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { type Column, names, numbers, tableOf } from './table.ts';

/** Requests over time, by group. */
interface Traffic {
  readonly range: TrafficRange;
  readonly split: TrafficSplit;
  readonly groups: readonly TrafficGroup[];
}

const splitTitles: Readonly<Record<TrafficSplit, string>> = {
  provider: 'Provider',
  model: 'Model',
  error_type: 'Error type',
};

const rate = (share: number | undefined): string | Html =>
  share === undefined ? muted('–') : percentOf(share);

/** Requests, failure rate and time to the first token of the groups over time, each value of which leads to its requests. */
export function trafficCharts({ range, split, groups }: Traffic): Html {
  const times = pointsIn(range);
  const all = totalOf(groups.map(({ total }) => total));
  const linkAt = (at: number, filters = {}) => samplesLink(times[at]!, times[at]! + range.point_ms, filters);
  const failed = { end: 'service_failed' };
  const seriesOf = (of: (sum: TrafficSum, at: number) => number | undefined, filters = {}) =>
    groups.map(
      ({ title, look, points, filters: own }): ChartSeries => ({
        name: title,
        look,
        values: points.map(of),
        linkOf: at => linkAt(at, { ...filters, ...own }),
      }),
    );
  const one = (
    title: string,
    figure: Part,
    more: Pick<Chart, 'kind' | 'unit' | 'least' | 'series'>,
    filters = {},
  ) =>
    chart({
      label: title,
      caption: html`<span class="muted">${title}</span> <strong>${figure}</strong>`,
      axis: 'Time',
      points: times.map((at_ms, at) => ({ label: pointLabel(at_ms, range), link: linkAt(at, filters) })),
      ...more,
    });
  const requestsAt = times.map((_, at) => groups.reduce((sum, { points }) => sum + points[at]!.requests, 0));
  const waits = (share: number) => seriesOf(sum => firstTokenWithin(sum, share));
  const link = (text: string | Html, filters = {}) =>
    html`<a href="${samplesLink(range.from_ms, range.until_ms, filters)}">${text}</a>`;
  return html`<div class="trends">
${one('Requests', link(numberOf(all.requests)), {
  kind: 'bars',
  unit: 'count',
  least: 2,
  series: seriesOf(({ requests }) => requests),
})}
${one(
  'Failed, by providers or the gateway',
  link(rate(failureRateOf(all)), failed),
  {
    kind: 'lines',
    unit: 'share',
    least: 0.01,
    series: seriesOf((sum, at) => failureRateOf(sum, ofAll(split) ? requestsAt[at]! : sum.requests), failed),
  },
  failed,
)}
${one(
  `First token${split === 'provider' ? ' of attempts' : ''}, p50 · p95`,
  `${waited(firstTokenWithin(all, 0.5))} · ${waited(firstTokenWithin(all, 0.95))}`,
  {
    kind: 'lines',
    unit: 'ms',
    least: 100,
    series: [
      ...waits(0.5).map(each => ({ ...each, name: `${each.name} p50`, isDashed: true })),
      ...waits(0.95).map(each => ({ ...each, name: `${each.name} p95` })),
    ],
  },
)}
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
  numbers(
    'Requests',
    ({ sum, from_ms, until_ms, filters }) =>
      html`<a href="${samplesLink(from_ms, until_ms, filters)}">${numberOf(sum.requests)}</a>`,
  ),
  ...errorClasses.map(
    (end): Column<Line> =>
      numbers(classTitles[end], ({ sum, all, from_ms, until_ms, filters }) =>
        sum[end] === 0
          ? '0'
          : html`<a href="${samplesLink(from_ms, until_ms, { ...filters, end })}">${numberOf(sum[end])}</a> ${muted(percentOf(sum[end] / all))}`,
      ),
  ),
  numbers('First token p50', ({ sum }) => waited(firstTokenWithin(sum, 0.5))),
  numbers('p95', ({ sum }) => waited(firstTokenWithin(sum, 0.95))),
];

/** What each group adds up to in the whole range; the legend of the charts. */
export function groupTable({ range, split, groups }: Traffic): Html {
  const { from_ms, until_ms } = range;
  const all = totalOf(groups.map(({ total }) => total));
  const lines = groups.map(({ title, look, total, filters }) => ({
    title: html`<span class="key">${swatch(look)} ${title}</span>`,
    sum: total,
    from_ms,
    until_ms,
    filters,
    all: ofAll(split) ? all.requests : total.requests,
  }));
  const together: Line = { title: 'all', sum: all, from_ms, until_ms, filters: {}, all: all.requests };
  return tableOf<Line>(
    `Traffic by ${splitTitles[split].toLowerCase()}`,
    [names(splitTitles[split], ({ title }) => title), ...figures],
    lines.length > 1 ? [...lines, together] : lines,
  );
}
