/**
 * Draws charts from their tables, with axes and a read-out for pointers and keys. The tables stay, closed. If the library cannot be loaded,
 * they stay open.
 */
import { optionsOf, swatchOf } from './chart-options.js';

const isDark = matchMedia('(prefers-color-scheme: dark)');
/** Between the pointer and the read-out. */
const gap_px = 12;
/** Drawn charts by their figures. */
const drawn = new Map();
let library;

/** The library is a script, no module: it names itself in the window. */
const load = () =>
  new Promise((resolve, reject) => {
    const src = new URL('./uPlot.iife.min.js', import.meta.url).href;
    const script = Object.assign(document.createElement('script'), { src });
    script.onload = () => resolve(globalThis.uPlot);
    script.onerror = () => reject(new Error(`cannot load ${src}`));
    document.head.append(script);
  });

/** Draws the charts below `root`, those with new figures again, and forgets those that have left the page. */
export async function drawCharts(root = document) {
  const figures = root.querySelectorAll('figure[data-chart]');
  if (figures.length === 0) return;
  library ??= load();
  const uPlot = await library.catch(() => undefined);
  for (const [figure, chart] of drawn)
    if (!figure.isConnected) {
      chart.destroy();
      drawn.delete(figure);
    }
  for (const figure of figures) {
    const details = figure.querySelector('details');
    if (details.dataset.ready) {
      drawn.get(figure)?.update();
      continue;
    }
    details.open = uPlot === undefined;
    details.dataset.ready = 'yes';
    if (uPlot) drawn.set(figure, new DrawnChart(uPlot, figure));
  }
}

isDark.addEventListener('change', () => {
  for (const chart of drawn.values()) chart.draw();
});

const element = (name, attributes) => {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
};

class DrawnChart {
  #uPlot;
  #figure;
  #data;
  #plot;
  #said = element('p', { class: 'visually-hidden', role: 'status', 'data-scripted': '' });
  #readOut = element('div', { class: 'read-out', 'aria-hidden': 'true' });
  #chart;
  #sizes;
  /** Whether keys have chosen the point that is shown. */
  #isByKeys = false;

  constructor(uPlot, figure) {
    this.#uPlot = uPlot;
    this.#figure = figure;
    this.#data = dataIn(figure);
    this.#plot = element('div', { class: 'plot', tabindex: '0', role: 'application', 'data-scripted': '' });
    this.#plot.setAttribute('aria-roledescription', 'chart');
    this.#plot.setAttribute(
      'aria-label',
      `${this.#data.label}. The arrow keys read one point after the other`,
    );
    figure.querySelector('figcaption').after(this.#plot, this.#said);
    this.draw();
    this.#readByKeys();
    this.#sizes = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = this.#plot;
      if (width !== this.#chart.width) this.#chart.setSize({ width, height });
    });
    this.#sizes.observe(this.#plot);
  }

  update() {
    const data = dataIn(this.#figure);
    if (JSON.stringify(data) === JSON.stringify(this.#data)) return;
    this.#data = data;
    this.draw();
  }

  draw() {
    this.#chart?.destroy();
    const { clientWidth: width, clientHeight: height } = this.#plot;
    const { data, options } = optionsOf(this.#uPlot, this.#data);
    const hooks = { setCursor: [({ cursor }) => this.#show(cursor)] };
    this.#chart = new this.#uPlot({ ...options, hooks, width, height }, data, this.#plot);
    this.#chart.over.addEventListener('click', () => this.#open());
    this.#plot.append(this.#readOut);
    this.#drawSwatches();
  }

  /** In place of those of the page, which are as alike as style sheets can make them. */
  #drawSwatches() {
    const caption = this.#figure.querySelector('figcaption');
    for (const old of caption.querySelectorAll('canvas')) old.remove();
    for (const [at, swatch] of [...caption.querySelectorAll('.swatch')].entries())
      if (this.#data.series[at]) swatch.after(swatchOf(this.#data.series[at]));
  }

  destroy() {
    this.#sizes.disconnect();
    this.#chart.destroy();
  }

  #show({ idx, left, top }) {
    const point = left >= 0 && idx !== null && idx !== undefined ? this.#data.points[idx] : undefined;
    this.#readOut.hidden = !point;
    this.#chart && (this.#chart.over.style.cursor = point && this.#linkAt(idx) ? 'pointer' : 'default');
    if (!point) return;
    const [title, ...lines] = linesOf(this.#data, point);
    this.#readOut.replaceChildren(
      Object.assign(document.createElement('strong'), { textContent: title }),
      ...lines.map(text => Object.assign(document.createElement('div'), { textContent: text })),
    );
    const { offsetWidth: width, offsetHeight: height } = this.#readOut;
    const { clientWidth, clientHeight } = this.#plot;
    const at = this.#chart.over.offsetLeft + left;
    const x = at + gap_px + width > clientWidth ? at - width - gap_px : at + gap_px;
    const y = Math.min(top - gap_px, clientHeight - height);
    this.#readOut.style.translate = `${Math.max(0, x)}px ${Math.max(0, y)}px`;
  }

  /** The page of the value at the pointer, or of its whole point. */
  #linkAt(idx, top = this.#isByKeys ? -1 : this.#chart.cursor.top) {
    const { kind, points } = this.#data;
    const { link, values, links } = points[idx];
    if (top < 0) return link;
    const value = this.#chart.posToVal(top, 'y');
    let below = 0;
    const at =
      kind === 'bars'
        ? values.findIndex(part => (below += part ?? 0) >= value)
        : values.findIndex(one => one && Math.abs(this.#chart.valToPos(one, 'y') - top) < 8);
    return links[at] ?? link;
  }

  #open(idx = this.#chart.cursor.idx) {
    const link = typeof idx === 'number' && this.#linkAt(idx);
    if (link) location.assign(link);
  }

  /** Arrow keys, Home and End move from point to point, Enter opens what it stands for, Escape ends it. */
  #readByKeys() {
    let at = -1;
    const last = () => this.#data.points.length - 1;
    const show = index => {
      at = index;
      this.#isByKeys = index >= 0;
      const left = index < 0 ? -10 : this.#chart.valToPos(index, 'x');
      this.#chart.setCursor({ left, top: index < 0 ? -10 : 0 });
      this.#said.textContent = index < 0 ? '' : spoken(linesOf(this.#data, this.#data.points[index]));
    };
    const steps = {
      ArrowRight: () => show(Math.min(last(), at + 1)),
      ArrowLeft: () => show(at < 0 ? last() : Math.max(0, at - 1)),
      Home: () => show(0),
      End: () => show(last()),
      Escape: () => show(-1),
      Enter: () => at >= 0 && this.#open(at),
    };
    this.#plot.addEventListener('keydown', event => {
      if (!Object.hasOwn(steps, event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      steps[event.key]();
    });
    this.#plot.addEventListener('blur', () => show(-1));
    this.#plot.addEventListener('pointermove', () => {
      this.#isByKeys = false;
    });
  }
}

/** The figures of a table. */
function dataIn(figure) {
  const { chart: kind, unit, least, label } = figure.dataset;
  const [first, ...rows] = figure.querySelectorAll('tr');
  const heads = [...first.cells].slice(1);
  const at = role => heads.findIndex(({ dataset }) => dataset.role === role);
  const [total, before] = [at('total'), at('before')];
  const series = heads
    .filter(({ dataset }) => dataset.role === undefined)
    .map(({ textContent, dataset }) => ({
      name: textContent,
      look: dataset.look,
      isDashed: dataset.dashed !== undefined,
    }));
  const numberIn = cell => (cell?.dataset.value === undefined ? null : Number(cell.dataset.value));
  const points = rows.map(({ cells: [name, ...cells] }) => {
    const own = cells.slice(0, series.length);
    return {
      label: name.textContent,
      tick: name.dataset.tick ?? name.textContent,
      link: name.querySelector('a')?.href,
      values: own.map(numberIn),
      amounts: own.map(({ textContent }) => textContent),
      links: own.map(cell => cell.querySelector('a')?.href),
      total: cells[total]?.textContent,
      before: numberIn(cells[before]),
      before_text: cells[before]?.textContent,
    };
  });
  return { kind, unit, least: Number(least), label, series, points, hasBefore: before >= 0 };
}

/** What a point says: its label with the whole, each series that has something, and the time before. */
function linesOf({ series }, { label, total, values, amounts, before_text }) {
  const only = series.length === 1 ? amounts[0] : undefined;
  const parts = series.flatMap(({ name }, at) => (values[at] ? [`${name} ${amounts[at]}`] : []));
  const whole = total ?? only;
  return [
    whole === undefined ? label : `${label}: ${whole}`,
    ...(only === undefined ? parts : []),
    ...(before_text ? [`before, ${before_text}`] : []),
  ];
}

const spoken = lines => lines.join(', ');

drawCharts();
