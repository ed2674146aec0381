import { type Html, html, type Part } from './html.ts';

/** One line, or one layer of bars. Values are by column; undefined where there is none. */
export interface TrendSeries {
  /** Number of its colour, from 1. */
  readonly series: number;
  readonly values: readonly (number | undefined)[];
  /** What each value is, for people who point at it, and where it leads. */
  readonly titleOf: (column: number) => string;
  readonly linkOf: (column: number) => string;
  readonly isDashed?: boolean;
}

interface Trend {
  readonly title: string;
  /** What all of it adds up to. */
  readonly figure: Part;
  /** Texts below the columns, the first, the middle and the last of which are shown. */
  readonly labels: readonly string[];
  /** Where the ground of each column leads. */
  readonly columnLink: (column: number) => string;
  readonly series: readonly TrendSeries[];
  readonly kind: 'bars' | 'lines';
  readonly amount: (value: number) => string;
  /** The least value of the upper edge, so that little is not shown as much. */
  readonly least: number;
}

const height = 100;

/** Values over time as bars or lines. The same figures and links must be in a table: the picture is for the pointer only. */
export function trendChart(trend: Trend): Html {
  const { title, figure, labels, amount, kind, columnLink } = trend;
  const top = niceTop(Math.max(trend.least, highestOf(trend)));
  const ground = labels.map(
    (label, at) =>
      html`<a href="${columnLink(at)}" tabindex="-1"><title>${label}</title><rect class="column" x="${at}" width="1" height="${height}"/></a>`,
  );
  const middle = Math.floor(labels.length / 2);
  return html`<figure class="trend">
<figcaption><span class="muted">${title}</span> <strong>${figure}</strong></figcaption>
<div class="trend-plot" aria-hidden="true">
<div class="trend-scale muted"><span>${amount(top)}</span><span>${amount(top / 2)}</span><span>${amount(0)}</span></div>
<svg viewBox="0 0 ${labels.length} ${height}" preserveAspectRatio="none">
${[0.02, 0.5].map(share => html`<line class="grid" x1="0" x2="${labels.length}" y1="${height * share}" y2="${height * share}"/>`)}
${ground}
${kind === 'bars' ? bars(trend, top) : lines(trend, top)}
</svg>
</div>
<div class="axis muted" aria-hidden="true"><span>${labels[0]}</span><span>${labels[middle]}</span><span>${labels.at(-1)}</span></div>
</figure>`;
}

function highestOf({ kind, labels, series }: Trend): number {
  const at = (column: number) => series.map(({ values }) => values[column] ?? 0);
  const sizes = labels.map((_, column) =>
    kind === 'bars' ? at(column).reduce((sum, value) => sum + value, 0) : Math.max(0, ...at(column)),
  );
  return Math.max(0, ...sizes);
}

/** The next larger of 1, 2, 4, 6, 8 times a power of ten. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 6, 8, 10].find(each => each * power >= value * 0.999_999) ?? 10;
  return step * power;
}

const link = (series: TrendSeries, column: number, shape: Html): Html =>
  html`<a href="${series.linkOf(column)}" tabindex="-1"><title>${series.titleOf(column)}</title>${shape}</a>`;

function bars({ labels, series }: Trend, top: number): Html[] {
  return labels.map((_, column) => {
    let y = height;
    const parts = series.map(one => {
      const value = one.values[column] ?? 0;
      if (value === 0) return '';
      const tall = (value / top) * height;
      y -= tall;
      const shape = html`<rect class="series-${one.series}" x="${column + 0.1}" y="${y.toFixed(2)}" width="0.8" height="${tall.toFixed(2)}"/>`;
      return link(one, column, shape);
    });
    return html`${parts}`;
  });
}

/** A line with a gap where there is no value; each value is a dot that can be chosen, unless the line is dashed. */
function lines({ series }: Trend, top: number): Html[] {
  const y = (value: number) => (height - (value / top) * (height - 2)).toFixed(2);
  return series.map(one => {
    const { values, isDashed } = one;
    const steps = values.map((value, at) =>
      value === undefined ? '' : `${values[at - 1] === undefined ? 'M' : 'L'}${at + 0.5} ${y(value)}`,
    );
    const dots = values.map(
      (value, at) =>
        value !== undefined &&
        value > 0 &&
        !isDashed &&
        link(one, at, html`<path class="dot group-${one.series}" d="M${at + 0.5} ${y(value)}h0"/>`),
    );
    return html`<path class="line group-${one.series} ${isDashed && 'dashed'}" d="${steps.join('')}"/>${dots}`;
  });
}
