/**
 * Draws the bars of a page on canvases, with axes and a read-out for pointers and keys. The figures are those of the page. If anything
 * here fails, the bars stay as they came.
 */
import './chart.umd.min.js';
import { datasetsOf, fillOf, open, optionsOf } from './chart-settings.js';

const { Chart } = globalThis;
Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
const isDark = matchMedia('(prefers-color-scheme: dark)');

for (const figure of document.querySelectorAll('.chart[data-chart]'))
  draw(figure, JSON.parse(figure.dataset.chart));

function draw(figure, data) {
  const bars = figure.querySelector('.bars');
  const plot = element('div', { class: 'plot', tabindex: '0', role: 'application' });
  plot.setAttribute('aria-roledescription', 'bar chart');
  plot.setAttribute('aria-label', `${data.label}. The arrow keys read one bar after the other`);
  const canvas = element('canvas', { 'aria-hidden': 'true' });
  const said = element('p', { class: 'visually-hidden', role: 'status' });
  plot.append(canvas);
  bars.before(plot, said);
  try {
    const labels = data.bars.map(({ tick }) => tick);
    const chart = new Chart(canvas, {
      type: 'bar',
      data: { labels, datasets: datasetsOf(data) },
      options: optionsOf(data),
    });
    paintKeys(figure, data);
    isDark.addEventListener('change', () => {
      chart.data.datasets = datasetsOf(data);
      chart.options = optionsOf(data);
      chart.update('none');
      paintKeys(figure, data);
    });
    readByKeys(plot, said, chart, data);
  } catch (fault) {
    plot.remove();
    said.remove();
    throw fault;
  }
  bars.remove();
  figure.querySelector('.axis').remove();
}

function element(name, attributes) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

/** Gives the legend the patterns of the bars. */
function paintKeys(figure, { series }) {
  const swatches = figure.querySelectorAll('.swatch');
  for (const [at, { look }] of series.entries()) {
    const swatch = element('canvas', { class: 'swatch', width: 26, height: 26, 'aria-hidden': 'true' });
    const pen = swatch.getContext('2d');
    pen.fillStyle = fillOf(look);
    pen.scale(2, 2);
    pen.fillRect(0, 0, 13, 13);
    swatches[at].replaceWith(swatch);
  }
}

/** Arrow keys, Home and End move from bar to bar, Enter opens what it stands for, Escape ends it. */
function readByKeys(plot, said, chart, data) {
  let at = -1;
  const last = data.bars.length - 1;
  const show = index => {
    at = index;
    const active = index < 0 ? [] : chart.data.datasets.map((_, datasetIndex) => ({ datasetIndex, index }));
    chart.setActiveElements(active);
    chart.tooltip.setActiveElements(active, { x: 0, y: 0 });
    chart.update('none');
    said.textContent = index < 0 ? '' : textOf(data, data.bars[index]);
  };
  const steps = {
    ArrowRight: () => show(Math.min(last, at + 1)),
    ArrowLeft: () => show(at < 0 ? last : Math.max(0, at - 1)),
    Home: () => show(0),
    End: () => show(last),
    Escape: () => show(-1),
    Enter: () => at >= 0 && open(data.bars[at]),
  };
  plot.addEventListener('keydown', event => {
    if (!Object.hasOwn(steps, event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    steps[event.key]();
  });
  plot.addEventListener('blur', () => show(-1));
}

function textOf({ series }, bar) {
  const parts = series.flatMap(({ name }, at) => bar.amounts[at] && `${name} ${bar.amounts[at]}`);
  const was = bar.before_text && `before, ${bar.before_text}`;
  return [`${bar.label}: ${bar.total}`, ...parts.filter(Boolean), was].filter(Boolean).join(', ');
}
