import { type Html, html } from './html.ts';
import type { SeriesLook } from './series-looks.ts';

/** A series, and how it is drawn; what is left over has no look. */
export interface ChartSeries {
  readonly name: string;
  readonly look: SeriesLook | undefined;
}

/** One bar: its parts from the bottom up, in the order of the series. */
export interface ChartBar {
  readonly label: string;
  /** What the axis has of the label; all of it without. */
  readonly tick?: string;
  readonly parts: readonly number[];
  /** The whole bar of the time before, if that is shown, and the label that it had. */
  readonly before?: number | undefined;
  readonly before_label?: string | undefined;
  /** The page that shows what it is made of. */
  readonly link?: string | undefined;
}

/** A chart of stacked bars. */
export interface BarChart {
  /** The accessible name. */
  readonly label: string;
  /** What the two axes show, with the unit. */
  readonly axes: { readonly x: string; readonly y: string; readonly isMoney?: boolean | undefined };
  readonly series: readonly ChartSeries[];
  readonly bars: readonly ChartBar[];
  /** What `before` is. */
  readonly before?: string | undefined;
  readonly amount: (value: number) => string;
}

const height = 100;
const gap = 0.2;

/** Most series with a look of their own. */
export const max_series = 7;

/**
 * Stacked bars with a legend. The same figures must be in a table, since bars cannot be read without sight or a pointer. The script
 * `charts.js` draws them anew, with axes and a read-out, from the attribute `data-chart`.
 */
export function barChart(chart: BarChart): Html {
  const { label, series, bars, before, amount } = chart;
  const sums = bars.map(sumOf);
  const highest = Math.max(0, ...sums, ...bars.map(bar => bar.before ?? 0));
  const most = Math.max(0, ...sums);
  return html`<figure class="chart" data-chart="${JSON.stringify(scriptData(chart))}">
<figcaption>${series.map(({ name, look }) => html`<span class="key"><svg class="swatch" aria-hidden="true" viewBox="0 0 1 1"><rect class="${classOf(look)}" width="1" height="1"/></svg> ${name}</span>\n`)}${before !== undefined && html`<span class="key"><svg class="swatch" aria-hidden="true" viewBox="0 0 1 1"><line class="before" x1="0" x2="1" y1="0.5" y2="0.5"/></svg> ${before}</span>\n`}<span class="muted">highest: ${amount(most)} on ${bars[sums.indexOf(most)]?.label}</span></figcaption>
<svg class="bars" role="img" aria-label="${label}" viewBox="0 0 ${bars.length} ${height}" preserveAspectRatio="none">
${[0.25, 0.5, 0.75].map(share => html`<line class="grid" x1="0" x2="${bars.length}" y1="${height * share}" y2="${height * share}"/>`)}
${bars.map((bar, at) => barOf(chart, bar, at, highest))}
</svg>
<div class="axis muted"><span>${bars[0]?.label}</span><span>${bars.length > 1 && bars.at(-1)?.label}</span></div>
</figure>`;
}

const sumOf = ({ parts }: ChartBar): number => parts.reduce((sum, part) => sum + part, 0);

const classOf = (look: SeriesLook | undefined): string =>
  look ? `series-${look.colour} ${look.pattern}` : 'series-other';

function barOf({ series, amount }: BarChart, bar: ChartBar, index: number, highest: number): Html {
  const { label, parts, before } = bar;
  const tallOf = (value: number) => (highest === 0 ? 0 : (value / highest) * height);
  let top = height;
  const rects = parts.map((part, at) => {
    const tall = tallOf(part);
    top -= tall;
    return html`<rect class="${classOf(series[at]!.look)}" x="${index + gap / 2}" y="${top.toFixed(3)}" width="${1 - gap}" height="${tall.toFixed(3)}"/>`;
  });
  const line = (value: number) => {
    const y = (height - tallOf(value)).toFixed(3);
    return html`<line class="before" x1="${index}" x2="${index + 1}" y1="${y}" y2="${y}"/>`;
  };
  const amounts = parts.map((part, at) => `${series[at]!.name}: ${amount(part)}`);
  return html`<g><title>${[label, ...amounts].join('\n')}</title><rect class="ground" x="${index}" y="0" width="1" height="${height}"/>${rects}${before !== undefined && line(before)}</g>\n`;
}

/** What the script needs, with amounts as they are read. */
const scriptData = ({ label, axes, series, bars, before: beforeName, amount }: BarChart) => ({
  label,
  axes,
  before: beforeName,
  series,
  bars: bars.map(bar => ({
    label: bar.label,
    tick: bar.tick ?? bar.label,
    link: bar.link,
    parts: bar.parts,
    amounts: bar.parts.map(part => (part === 0 ? '' : amount(part))),
    total: amount(sumOf(bar)),
    before: bar.before,
    before_text: bar.before === undefined ? undefined : `${bar.before_label}: ${amount(bar.before)}`,
  })),
});
