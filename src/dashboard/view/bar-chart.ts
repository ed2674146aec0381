import { type Html, html } from './html.ts';

interface BarChart {
  /** The accessible name. */
  readonly label: string;
  readonly series: readonly string[];
  /** The parts of each bar from the bottom up, in the order of the series, by the bar's label. */
  readonly bars: ReadonlyMap<string, readonly number[]>;
  readonly amount: (value: number) => string;
}

const height = 100;
const gap = 0.2;

/** Number of series with a colour of their own. */
export const max_series = 4;

/** Stacked bars with a legend. The same figures must be in a table, since bars cannot be read without sight or a pointer. */
export function barChart({ label, series, bars, amount }: BarChart): Html {
  const labels = [...bars.keys()];
  const sums = [...bars.values()].map(parts => parts.reduce((sum, part) => sum + part, 0));
  const highest = Math.max(0, ...sums);
  const bar = ([name, parts]: readonly [string, readonly number[]], index: number): Html => {
    let top = height;
    const rects = parts.map((part, at) => {
      const tall = highest === 0 ? 0 : (part / highest) * height;
      top -= tall;
      return html`<rect class="series-${at + 1}" x="${index + gap / 2}" y="${top.toFixed(3)}" width="${1 - gap}" height="${tall.toFixed(3)}"/>`;
    });
    const amounts = parts.map((part, at) => `${series[at]}: ${amount(part)}`);
    return html`<g><title>${[name, ...amounts].join('\n')}</title><rect class="ground" x="${index}" y="0" width="1" height="${height}"/>${rects}</g>\n`;
  };
  return html`<figure class="chart">
<figcaption>${series.map((name, index) => html`<span class="key"><svg class="swatch" aria-hidden="true" viewBox="0 0 1 1"><rect class="series-${index + 1}" width="1" height="1"/></svg> ${name}</span>\n`)}<span class="muted">highest: ${amount(highest)} on ${labels[sums.indexOf(highest)]}</span></figcaption>
<svg class="bars" role="img" aria-label="${label}" viewBox="0 0 ${labels.length} ${height}" preserveAspectRatio="none">
${[0.25, 0.5, 0.75].map(share => html`<line class="grid" x1="0" x2="${labels.length}" y1="${height * share}" y2="${height * share}"/>`)}
${[...bars].map(bar)}
</svg>
<div class="axis muted"><span>${labels[0]}</span><span>${labels.length > 1 && labels.at(-1)}</span></div>
</figure>`;
}
