import { type Html, html } from './html.ts';

/** One bar: its label, and its parts from the bottom up, in the order of the series. */
export interface Bar {
  readonly label: string;
  readonly parts: readonly number[];
}

interface BarChart {
  /** The accessible name. */
  readonly label: string;
  readonly series: readonly string[];
  readonly bars: readonly Bar[];
  readonly amount: (value: number) => string;
}

const height = 100;
const gap = 0.2;

/** Number of series with a colour of their own. */
export const max_series = 4;

const sumOf = (parts: readonly number[]): number => parts.reduce((sum, part) => sum + part, 0);

/** Stacked bars with a legend. The same figures must be in a table, since bars cannot be read without sight or a pointer. */
export function barChart({ label, series, bars, amount }: BarChart): Html {
  const highest = bars.reduce((most, { parts }) => Math.max(most, sumOf(parts)), 0);
  const at = bars.findIndex(({ parts }) => sumOf(parts) === highest);
  return html`<figure class="chart">
<figcaption>${series.map((name, index) => html`<span class="key"><svg class="swatch" aria-hidden="true" viewBox="0 0 1 1"><rect class="series-${index + 1}" width="1" height="1"/></svg> ${name}</span>\n`)}<span class="muted">highest: ${amount(highest)} on ${bars[at]?.label}</span></figcaption>
<svg class="bars" role="img" aria-label="${label}" viewBox="0 0 ${bars.length} ${height}" preserveAspectRatio="none">
${[0.25, 0.5, 0.75].map(share => html`<line class="grid" x1="0" x2="${bars.length}" y1="${height * share}" y2="${height * share}"/>`)}
${bars.map((bar, index) => barOf(bar, index, highest, series, amount))}
</svg>
<div class="axis muted"><span>${bars[0]?.label}</span><span>${bars.length > 1 && bars.at(-1)!.label}</span></div>
</figure>`;
}

function barOf(
  { label, parts }: Bar,
  index: number,
  highest: number,
  series: readonly string[],
  amount: BarChart['amount'],
): Html {
  let top = height;
  const amounts = parts.map((part, at) => `${series[at]}: ${amount(part)}`);
  return html`<g><title>${[label, ...amounts].join('\n')}</title><rect class="ground" x="${index}" y="0" width="1" height="${height}"/>${parts.map(
    (part, at) => {
      const tall = highest === 0 ? 0 : (part / highest) * height;
      top -= tall;
      return html`<rect class="series-${at + 1}" x="${index + gap / 2}" y="${top.toFixed(3)}" width="${1 - gap}" height="${tall.toFixed(3)}"/>`;
    },
  )}</g>\n`;
}
