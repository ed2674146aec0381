/** What Chart.js is told of a chart. */

const isStill = matchMedia('(prefers-reduced-motion: reduce)');
const duration_ms = 250;
const tile_px = 8;

const style = getComputedStyle(document.documentElement);
const colour = name => style.getPropertyValue(`--${name}`).trim();
const shortened = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** Axes, read-out and what a click does. */
export const optionsOf = data => ({
  maintainAspectRatio: false,
  animation: isStill.matches ? false : { duration: duration_ms },
  interaction: { mode: 'index', intersect: false },
  onClick: (_, [hit]) => hit && open(data.bars[hit.index]),
  onHover: ({ native }, [hit]) => {
    native.target.style.cursor = hit && data.bars[hit.index].link ? 'pointer' : 'default';
  },
  scales: { x: axisOf(data.axes.x), y: { ...axisOf(data.axes.y), ...amountsOf(data.axes) } },
  plugins: { legend: { display: false }, tooltip: tooltipOf(data.bars) },
});

/** Opens the page that shows what a bar is made of. */
export function open({ link }) {
  if (link) location.assign(link);
}

/** The stacked series, in the colours of the page's scheme, and a line for the time before. */
export function datasetsOf({ series, bars, before }) {
  const stacks = series.map(({ name, look }, at) => ({
    label: name,
    data: bars.map(({ parts }) => parts[at]),
    backgroundColor: fillOf(look),
    hoverBackgroundColor: fillOf(look),
    borderColor: colour('surface'),
    borderWidth: { top: 1 },
    maxBarThickness: 56,
    categoryPercentage: 0.85,
    barPercentage: 0.95,
    stack: 'now',
    order: 1,
  }));
  if (before === undefined) return stacks;
  const line = {
    type: 'line',
    label: before,
    data: bars.map(bar => bar.before ?? null),
    borderColor: colour('muted'),
    borderWidth: 1.5,
    borderDash: [4, 3],
    stepped: 'middle',
    pointRadius: bars.length === 1 ? 4 : 0,
    pointHoverRadius: 3,
    backgroundColor: colour('muted'),
    stack: 'before',
    order: 0,
  };
  return [...stacks, line];
}

/** A colour, or a pattern of one. */
export function fillOf(look) {
  if (!look) return colour('series-other');
  const full = colour(`series-${look.colour}`);
  if (look.pattern === 'solid') return full;
  const tile = Object.assign(document.createElement('canvas'), { width: tile_px, height: tile_px });
  const pen = tile.getContext('2d');
  Object.assign(pen, { strokeStyle: full, fillStyle: full, lineWidth: 2.5, lineCap: 'square' });
  pen.globalAlpha = 0.25;
  pen.fillRect(0, 0, tile_px, tile_px);
  pen.globalAlpha = 1;
  if (look.pattern === 'dotted') {
    pen.arc(tile_px / 2, tile_px / 2, tile_px / 3.5, 0, 2 * Math.PI);
    pen.fill();
  } else {
    // Beyond the edges as well, so that the lines of neighbouring tiles meet.
    for (const from of [-tile_px, 0, tile_px]) {
      pen.moveTo(from, tile_px);
      pen.lineTo(from + tile_px, 0);
    }
    pen.stroke();
  }
  return pen.createPattern(tile, 'repeat');
}

const axisOf = text => ({
  stacked: true,
  title: { display: true, text, color: colour('muted') },
  ticks: { color: colour('muted'), maxRotation: 0, autoSkipPadding: 16 },
  grid: { display: false },
  border: { color: colour('line') },
});

const amountsOf = ({ isMoney }) => ({
  beginAtZero: true,
  grid: { color: colour('line') },
  border: { display: false },
  ticks: {
    color: colour('muted'),
    maxTicksLimit: 6,
    ...(!isMoney && { precision: 0 }),
    callback: value => `${isMoney ? '$' : ''}${shortened.format(value)}`,
  },
});

const tooltipOf = bars => ({
  backgroundColor: colour('surface'),
  titleColor: colour('text'),
  bodyColor: colour('text'),
  footerColor: colour('text'),
  borderColor: colour('muted'),
  borderWidth: 1,
  cornerRadius: 6,
  padding: 10,
  caretSize: 0,
  boxPadding: 4,
  filter: ({ dataset, raw }) => dataset.type !== 'line' && raw !== 0,
  callbacks: {
    label: ({ dataset, datasetIndex, dataIndex }) =>
      ` ${dataset.label}: ${bars[dataIndex].amounts[datasetIndex]}`,
    title: ([item]) => item && bars[item.dataIndex].label,
    afterTitle: ([item]) => item && `All: ${bars[item.dataIndex].total}`,
    footer: ([item]) =>
      item && bars[item.dataIndex].before_text && `Before, ${bars[item.dataIndex].before_text}`,
  },
});
