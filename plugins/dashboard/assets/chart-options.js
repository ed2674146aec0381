/** What uPlot is told of a chart. */

const tile_px = 8;
const max_bar_px = 56;
const pen_width = () => Math.max(1, globalThis.devicePixelRatio);

/** A colour of the style sheet as it is now; the sheet has two of each, one for dark windows. */
function colour(name) {
  const { style } = document.documentElement;
  style.caretColor = `var(--${name})`;
  return getComputedStyle(document.documentElement).caretColor;
}
const shortened = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** How amounts stand on the axis, by unit. */
const formats = {
  count: value => shortened.format(value),
  usd: value => `$${shortened.format(value)}`,
  share: value => `${Number((value * 100).toPrecision(3))} %`,
  ms: value => `${Number((value / 1000).toPrecision(3))} s`,
};

/** Options and columns of values, stacked for bars. The first layer is drawn last: each reaches from the ground to its own top. */
export function optionsOf(uPlot, { kind, unit, least, series, points, hasBefore }) {
  const isStacked = kind === 'bars';
  const columns = series.map((_, at) =>
    points.map(({ values }) =>
      isStacked ? values.slice(0, at + 1).reduce((sum, value) => sum + (value ?? 0), 0) : values[at],
    ),
  );
  const layers = series.map((one, at) => ({
    values: columns[at],
    drawn: isStacked ? barsOf(uPlot, one) : lineOf(one),
  }));
  if (isStacked) layers.reverse();
  if (hasBefore) layers.push({ values: points.map(({ before }) => before), drawn: beforeOf(uPlot) });
  return {
    data: [points.map((_, at) => at), ...layers.map(({ values }) => values)],
    options: {
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: !isStacked } },
      padding: [8, 8, 0, 0],
      scales: {
        x: { time: false, range: [-0.5, points.length - 0.5] },
        y: { range: (_, __, max) => [0, Math.max(max ?? 0, least) * 1.05 || 1] },
      },
      axes: [timeAxis(points), amountAxis(unit)],
      series: [{}, ...layers.map(({ drawn }) => drawn)],
    },
  };
}

function barsOf(uPlot, { name, look }) {
  const fill = fillOf(look);
  const paths = uPlot.paths.bars({ size: [0.85, max_bar_px] });
  return {
    label: name,
    fill: () => fill,
    stroke: colour('surface'),
    width: 1 / pen_width(),
    paths,
    points: { show: false },
  };
}

function lineOf({ name, look, isDashed }) {
  const stroke = strokeOf(look);
  // Those of nothing would cover the axis.
  const filter = ({ data }, layer, isShown) =>
    isShown ? data[layer].flatMap((value, at) => (value > 0 ? [at] : [])) : null;
  const points = { show: !isDashed, size: 6, fill: stroke, filter };
  return { label: name, stroke, width: 2, points, ...(isDashed && { dash: [3, 4], alpha: 0.8 }) };
}

const beforeOf = uPlot => ({
  stroke: colour('muted'),
  width: 1.5,
  dash: [4, 3],
  paths: uPlot.paths.stepped({ align: 0 }),
  points: { show: false },
});

const font = () => `12px ${getComputedStyle(document.body).fontFamily}`;

function timeAxis(points) {
  const widest = Math.max(...points.map(({ tick }) => tick.length));
  return {
    stroke: colour('muted'),
    font: font(),
    grid: { show: false },
    ticks: { stroke: colour('line'), size: 4, width: 1 },
    incrs: [1, 2, 3, 4, 5, 6, 7, 10, 12, 14, 15, 20, 30, 60],
    space: widest * 7 + 14,
    values: (_, splits) => splits.map(at => points[at]?.tick ?? ''),
    size: 28,
  };
}

const amountAxis = unit => ({
  stroke: colour('muted'),
  font: font(),
  grid: { stroke: colour('line'), width: 1 },
  ticks: { show: false },
  space: 36,
  ...(unit === 'count' && { incrs: wholeSteps }),
  values: (_, splits) => splits.map(formats[unit]),
  size: (_, values) => 16 + 7 * Math.max(0, ...(values ?? []).map(({ length }) => length)),
});

/** Counts have no halves. */
const wholeSteps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map(step => step * 10 ** power)).flat();

/** `look` is a number of a colour and a pattern; what is left over has none. */
const strokeOf = look => colour(look ? `series-${look.split(' ')[0]}` : 'series-other');

/** A colour, or a pattern of one. */
function fillOf(look) {
  const full = strokeOf(look);
  const pattern = look?.split(' ')[1] ?? 'solid';
  if (pattern === 'solid') return full;
  const tile = Object.assign(document.createElement('canvas'), { width: tile_px, height: tile_px });
  const pen = tile.getContext('2d');
  Object.assign(pen, { strokeStyle: full, lineWidth: 2.5, lineCap: 'square' });
  // Opaque, since the bars of other series are behind.
  pen.fillStyle = colour('surface');
  pen.fillRect(0, 0, tile_px, tile_px);
  pen.fillStyle = full;
  pen.globalAlpha = 0.25;
  pen.fillRect(0, 0, tile_px, tile_px);
  pen.globalAlpha = 1;
  if (pattern === 'dotted') {
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

/** For the legend: a series as its bars are. */
export function swatchOf({ look }) {
  const swatch = Object.assign(document.createElement('canvas'), {
    className: 'swatch',
    width: 26,
    height: 26,
  });
  swatch.setAttribute('aria-hidden', 'true');
  swatch.dataset.scripted = '';
  const pen = swatch.getContext('2d');
  pen.fillStyle = fillOf(look);
  pen.scale(2, 2);
  pen.fillRect(0, 0, 13, 13);
  return swatch;
}
