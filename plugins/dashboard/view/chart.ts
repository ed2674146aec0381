import { decimalsOf, dollarText, numberOf, percentOf, roundedSecondsOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import type { SeriesLook } from './series-looks.ts';

/** What amounts are, and how they are read. */
const units = { count: numberOf, usd: dollarText, share: percentOf, ms: roundedSecondsOf } as const;
type ChartUnit = keyof typeof units;

/** One line, or one layer of bars. */
export interface ChartSeries {
  readonly name: string;
  /** How it is drawn; what is left over has no look. */
  readonly look: SeriesLook | undefined;
  /** By point; undefined where there is none. */
  readonly values: readonly (number | undefined)[];
  readonly isDashed?: boolean;
  /** The page that shows what a value is made of; by default that of its point. */
  readonly linkOf?: (point: number) => string;
}

/** One place on the axis of time. */
interface ChartPoint {
  readonly label: string;
  /** What the axis has of the label; all of it without. */
  readonly tick?: string;
  /** The page that shows what it is made of. */
  readonly link?: string | undefined;
}

/** Values over time. */
export interface Chart {
  /** The accessible name. */
  readonly label: string;
  /** Shown above; the legend by default. */
  readonly caption?: Part;
  readonly kind: 'bars' | 'lines';
  /** What a point stands for. */
  readonly axis: string;
  readonly unit: ChartUnit;
  readonly points: readonly ChartPoint[];
  readonly series: readonly ChartSeries[];
  /** The time before: what it is, and by point its label and its whole bar, unless it has no counterpart. */
  readonly before?: {
    readonly name: string;
    readonly points: readonly ({ readonly label: string; readonly value: number } | undefined)[];
  };
  /** The least value of the upper edge, so that little is not shown as much. */
  readonly least?: number;
}

/** Most series with a look of their own. */
export const max_series = 7;

/**
 * A chart with its figures as a table, from which the script `charts.js` draws it: with axes, and a read-out for pointers and keys. Without
 * scripts the table is what there is.
 */
export function chart(setup: Chart): Html {
  const { label, caption = legend(setup), kind, axis, unit, points, series, before, least = 0 } = setup;
  const amount = amountIn(setup);
  const isStacked = kind === 'bars' && series.length > 1;
  return html`<figure class="chart" data-chart="${kind}" data-unit="${unit}" data-least="${least}" data-label="${label}">
<figcaption>${caption}</figcaption>
<details open><summary>Table</summary>
<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr><th scope="col">${axis}</th>${series.map(seriesHead)}${isStacked && head('All', 'total')}${before && head(before.name, 'before')}</tr></thead>
<tbody>${points.map(
    ({ label: name, tick, link }, at) =>
      html`<tr><th scope="row" class="nowrap" ${tick !== undefined && html`data-tick="${tick}"`}>${linked(name, link)}</th>${series.map(one => cellOf(one, at, amount))}${isStacked && amountCell(sumAt(series, at), amount)}${before && beforeCell(before.points[at], amount)}</tr>\n`,
  )}</tbody>
</table></div>
</details>
</figure>`;
}

const linked = (text: string, link: string | undefined): Part =>
  link === undefined ? text : html`<a href="${link}">${text}</a>`;

const head = (title: string, role: string): Html =>
  html`<th scope="col" class="number" data-role="${role}">${title}</th>`;

const seriesHead = ({ name, look, isDashed }: ChartSeries): Html =>
  html`<th scope="col" class="number" data-look="${look && `${look.colour} ${look.pattern}`}" ${isDashed && html`data-dashed="yes"`}>${name}</th>`;

type Amount = (value: number) => string;

/** How amounts of a chart are read: all dollars with the same decimals. */
function amountIn({ unit, points, series, before }: Chart): Amount {
  if (unit !== 'usd') return units[unit];
  const whole = [
    ...points.map((_, at) => sumAt(series, at)),
    ...(before?.points ?? []).flatMap(point => point?.value ?? []),
  ];
  const decimals = decimalsOf([...series.flatMap(({ values }) => values.map(value => value ?? 0)), ...whole]);
  return usd => dollarText(usd, decimals);
}

function cellOf({ values, linkOf }: ChartSeries, at: number, amount: Amount): Html {
  const value = values[at];
  if (value === undefined) return html`<td class="number">–</td>`;
  return html`<td class="number" data-value="${value}">${linked(amount(value), value > 0 ? linkOf?.(at) : undefined)}</td>`;
}

const amountCell = (value: number, amount: Amount): Html =>
  html`<td class="number" data-value="${value}">${amount(value)}</td>`;

const beforeCell = (point: { label: string; value: number } | undefined, amount: Amount): Html =>
  point
    ? html`<td class="number" data-value="${point.value}"><span class="muted">${point.label}:</span> ${amount(point.value)}</td>`
    : html`<td></td>`;

const sumAt = (series: readonly ChartSeries[], at: number): number =>
  series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);

/** How a series is drawn, beside its name. */
export const swatch = (look: SeriesLook | undefined): Html =>
  drawing(
    html`<rect width="1" height="1" fill="${colourOf(look)}" stroke="${colourOf(look)}" ${edges[look?.pattern ?? 'solid']} vector-effect="non-scaling-stroke"/>`,
  );

const drawing = (shape: Html): Html =>
  html`<svg class="swatch" aria-hidden="true" viewBox="0 0 1 1">${shape}</svg>`;

const colourOf = (look: SeriesLook | undefined): string => `var(--series-${look?.colour ?? 'other'})`;

/** What tells series apart by more than colour, once all colours have been used. */
const edges: Readonly<Record<SeriesLook['pattern'], Html>> = {
  solid: html`stroke-width="0"`,
  hatched: html`fill-opacity="0.3" stroke-width="2"`,
  dotted: html`fill-opacity="0.3" stroke-width="2" stroke-dasharray="2 3"`,
};

const line_before = drawing(
  html`<line x1="0" x2="1" y1="0.5" y2="0.5" stroke="var(--muted)" stroke-width="1.5" stroke-dasharray="4 3" vector-effect="non-scaling-stroke"/>`,
);

function legend(setup: Chart): Html {
  const { series, points, before } = setup;
  const sums = points.map((_, at) => sumAt(series, at));
  const most = Math.max(0, ...sums);
  return html`${series.map(({ name, look }) => html`<span class="key">${swatch(look)} ${name}</span>\n`)}${before && html`<span class="key">${line_before} ${before.name}</span>\n`}<span class="muted">highest: ${amountIn(setup)(most)} on ${points[sums.indexOf(most)]?.label}</span>`;
}
