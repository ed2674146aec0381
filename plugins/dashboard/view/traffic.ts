import { errorClasses, type TrafficRange, type TrafficSplit } from '../../../src/plugin.ts';
import {
  failureRateOf,
  failuresIn,
  firstTokenWithin,
  type TrafficGroup,
  type TrafficSum,
} from '../traffic-groups.ts';
import { pointLabel, pointsIn, type SampleFilters, samplesLink } from '../traffic-range.ts';
import { type Chart, type ChartSeries, chart, swatch } from './chart.ts';
import { classTitles } from './error-counts.ts';
import { changeOf, dollars, muted, numberOf, percentOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { timesText } from './provider-table.ts';
import type { SeriesLook } from './series-looks.ts';
import { figure } from './shell.ts';
import { type Column, names, numbers, tableOf } from './table.ts';

/** Requests of a range that pass some filters, by group. */
export interface Traffic {
  readonly range: TrafficRange;
  readonly split: TrafficSplit;
  readonly filters: SampleFilters;
  readonly groups: readonly TrafficGroup[];
  /** All groups together. */
  readonly total: TrafficSum;
  /** As much time before; undefined if it is not known. */
  readonly before: TrafficSum | undefined;
}

export const splitTitles: Readonly<Record<TrafficSplit, string>> = {
  provider: 'Provider',
  model: 'Model',
  error_type: 'Error type',
};

/** The figures of the whole range, with what they were before; money for those who see some. */
export function trafficTiles({ range, filters, total, before }: Traffic, withMoney: boolean): Html {
  const link = (text: string, more: SampleFilters = {}) =>
    html`<a href="${samplesLink(range.from_ms, range.until_ms, { ...filters, ...more })}">${text}</a>`;
  const count = (of: (sum: TrafficSum) => number) => before && changeOf(of(total), of(before));
  const was = (of: (sum: TrafficSum) => Part) => before && before.requests > 0 && html`was ${of(before)}`;
  const firstTokens = ({ first_tokens }: TrafficSum) => waits(first_tokens);
  const rate = (sum: TrafficSum) => percentOf(failureRateOf(sum) ?? 0);
  return html`<dl class="figures">
${figure(
  'Requests',
  link(numberOf(total.requests)),
  false,
  count(({ requests }) => requests),
)}
${figure('Failed', link(rate(total), { end: 'service_failed' }), html`${numberOf(failuresIn(total))} by providers or the gateway ${was(rate)}`)}
${figure('First token p50 · p95', firstTokens(total), was(firstTokens))}
${figure(
  'Tokens, in and out',
  numberOf(total.tokens),
  false,
  count(({ tokens }) => tokens),
)}
${
  withMoney &&
  figure(
    'Cost',
    dollars(total.cost_usd),
    false,
    count(({ cost_usd }) => Number(cost_usd)),
  )
}
</dl>`;
}

/** The times within which half and nearly all had their first token. */
const waits = (first_tokens: readonly number[]): Html =>
  timesText([0.5, 0.95].map(share => firstTokenWithin(first_tokens, share)));

/** Errors of whose making stand out: the provider's and ours. */
const classLooks: Readonly<Record<(typeof errorClasses)[number], SeriesLook>> = {
  provider_failed: { colour: 8, pattern: 'solid' },
  gateway_failed: { colour: 5, pattern: 'hatched' },
  refusal: { colour: 3, pattern: 'dotted' },
  client_error: { colour: 6, pattern: 'solid' },
};

/** Requests and time to the first token of the groups over time, and errors by class, each value of which leads to its requests. */
export function trafficCharts({ range, split, filters, groups, total }: Traffic): Html {
  const times = pointsIn(range);
  const linkAt = (at: number, more: SampleFilters = {}) =>
    samplesLink(times[at]!, times[at]! + range.point_ms, { ...filters, ...more });
  const seriesOf = (of: (sum: TrafficSum) => number | undefined) =>
    groups.map(
      ({ title, look, points, filters: own }): ChartSeries => ({
        name: title,
        look,
        values: points.map(of),
        linkOf: at => linkAt(at, own),
      }),
    );
  const sumsAt = (of: (sum: TrafficSum) => number) =>
    times.map((_, at) => groups.reduce((sum, { points }) => sum + of(points[at]!), 0));
  const one = (
    title: string,
    legend: Part,
    more: Pick<Chart, 'kind' | 'unit' | 'least' | 'series'>,
    of: SampleFilters = {},
  ) =>
    chart({
      label: title,
      caption: html`<span>${title}</span> <span class="muted">${legend}</span>`,
      axis: 'Time',
      points: times.map((at_ms, at) => ({ label: pointLabel(at_ms, range), link: linkAt(at, of) })),
      ...more,
    });
  const shown = errorClasses.filter(name => total[name] > 0);
  const classes = shown.length > 0 ? shown : errorClasses.slice(0, 1);
  const within = (share: number) => seriesOf(sum => firstTokenWithin(timesIn(sum, split), share));
  return html`<div class="trends">
${one('Requests', '', { kind: 'bars', unit: 'count', least: 2, series: seriesOf(({ requests }) => requests) })}
${one(
  'Errors by class',
  shown.map(name => html`<span class="key">${swatch(classLooks[name])} ${classTitles[name]}</span> `),
  {
    kind: 'bars',
    unit: 'count',
    least: 2,
    series: classes.map(
      (end): ChartSeries => ({
        name: classTitles[end],
        look: classLooks[end],
        values: sumsAt(sum => sum[end]),
        linkOf: at => linkAt(at, { end }),
      }),
    ),
  },
  { end: 'failed' },
)}
${one(`First token${ofAttempts(split)}`, 'p95, dashed p50', {
  kind: 'lines',
  unit: 'ms',
  least: 100,
  series: [
    ...within(0.5).map(each => ({ ...each, name: `${each.name} p50`, isDashed: true })),
    ...within(0.95).map(each => ({ ...each, name: `${each.name} p95` })),
  ],
})}
</div>`;
}

/** Providers are compared by their own attempts. */
const timesIn = (sum: TrafficSum, split: TrafficSplit): readonly number[] =>
  split === 'provider' ? sum.attempt_first_tokens : sum.first_tokens;
const ofAttempts = (split: TrafficSplit): string => (split === 'provider' ? ' of attempts' : '');

interface Line {
  readonly title: Html | string;
  readonly sum: TrafficSum;
  readonly filters: SampleFilters;
  /** Of which the errors are a share. */
  readonly all: number;
}

/** What each group adds up to in the whole range; the legend of the charts. */
export function groupTable({ range, split, filters, groups, total }: Traffic): Html {
  const link = (text: string, of: SampleFilters) =>
    html`<a href="${samplesLink(range.from_ms, range.until_ms, of)}">${text}</a>`;
  const lines = groups.map(({ title, look, total: sum, filters: own }): Line => {
    // The rate of a type of error is its share of all requests.
    const all = split === 'error_type' ? total.requests : sum.requests;
    return { title: html`<span class="key">${swatch(look)} ${title}</span>`, sum, filters: own, all };
  });
  const together: Line = { title: 'all', sum: total, filters, all: total.requests };
  const errors = errorClasses.map(
    (end): Column<Line> =>
      numbers(classTitles[end], ({ sum, all, filters: own }) =>
        sum[end] === 0
          ? '0'
          : html`${link(numberOf(sum[end]), { ...own, end })} ${muted(percentOf(sum[end] / all))}`,
      ),
  );
  return tableOf<Line>(
    `Traffic by ${splitTitles[split].toLowerCase()}`,
    [
      names(splitTitles[split], ({ title }) => title),
      numbers('Requests', ({ sum, filters: own }) => link(numberOf(sum.requests), own)),
      ...errors,
      numbers(`First token${ofAttempts(split)} p50 · p95`, ({ sum }) => waits(timesIn(sum, split))),
    ],
    lines.length > 1 ? [...lines, together] : lines,
  );
}
