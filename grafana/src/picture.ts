import type { Board } from './dashboard.ts';
import { formatted } from './format.ts';
import { layout } from './layout.ts';
import type { Panel } from './panel.ts';

/** What Prometheus answered to one query: a line for each series. */
export interface Line {
  readonly name: string;
  /** In a table, the title of its column; `name` is then that of its row. */
  readonly column?: string;
  /** Seconds since 1970 and values. */
  readonly points: readonly (readonly [number, number])[];
}

/** A panel with what its queries brought. */
export interface Answer {
  readonly panel: Panel;
  readonly lines: readonly Line[];
}

const width = 1200;
const [column, line] = [width / 24, 26];
const [above, below] = [40, 8];
const colours = ['#7eb26d', '#eab839', '#6ed0e0', '#ef843c', '#e24d42', '#5794f2', '#b877d9', '#8f8f8f'];
const [ink, faint, ground, tile] = ['#d8d9da', '#8e9297', '#111217', '#181b1f'];

/** A dashboard drawn as a picture, much as Grafana shows it. */
export function picture(board: Board, answers: ReadonlyMap<Panel, Answer>): string {
  const parts: string[] = [];
  let height = above;
  for (const [shown, { x, y, w, h }] of layout(board.rows)) {
    const box = { x: x * column + 3, y: above + y * line + 3, w: w * column - 6, h: h * line - 6 };
    if ('panels' in shown) parts.push(text(12, box.y + 15, shown.title, ink, 14, 'bold'));
    else parts.push(drawn(withoutZeros(answers.get(shown) ?? { panel: shown, lines: [] }), box));
    height = Math.max(height, box.y + box.h + below);
  }
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="Inter, Helvetica, Arial, sans-serif">`;
  const name = `<title>The dashboard ${board.title}, drawn from what Prometheus answered</title>`;
  const back = `<rect width="${width}" height="${height}" fill="${ground}"/>`;
  return `${head}${name}${back}${text(12, 26, `sluice: ${board.title}`, ink, 18, 'bold')}\n${parts.join('\n')}\n</svg>\n`;
}

/** What is stacked and always zero would only hide what is not. */
function withoutZeros({ panel, lines }: Answer): Answer {
  if (panel.kind !== 'stacked') return { panel, lines };
  const seen = lines.filter(({ points }) => points.some(([, value]) => value > 0));
  return { panel, lines: seen.length > 0 ? seen : lines };
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

function drawn(answer: Answer, box: Box): string {
  const { kind, title } = answer.panel;
  const frame = `<rect x="${box.x}" y="${box.y}" width="${box.w}" height="${box.h}" rx="3" fill="${tile}"/>`;
  const inside =
    kind === 'stat' ? statOf(answer, box) : kind === 'table' ? tableOf(answer, box) : chartOf(answer, box);
  return frame + text(box.x + 8, box.y + 17, title, ink, 12) + inside;
}

function statOf({ panel, lines }: Answer, { x, y, w, h }: Box): string {
  const last = lines[0]?.points.at(-1)?.[1];
  const shown = last === undefined ? (panel.noValue ?? 'no data') : formatted(last, panel.unit);
  return text(x + w / 2, y + h - 30, shown, statColour(panel, last), 22, 'bold', 'middle');
}

function statColour({ thresholds }: Panel, value: number | undefined): string {
  if (!thresholds || value === undefined) return colours[5]!;
  const sign = thresholds.falling ? -1 : 1;
  if (value * sign >= thresholds.bad * sign) return colours[4]!;
  return value * sign >= thresholds.warn * sign ? colours[1]! : colours[0]!;
}

function tableOf({ panel, lines }: Answer, { x, y, w, h }: Box): string {
  const names = [...new Set(lines.map(({ name }) => name))].slice(0, Math.floor((h - 50) / 18));
  const titles = Object.keys(panel.queries);
  const at = (column: number) => x + 8 + ((w - 16) * (column + 1)) / (titles.length + 1);
  const head = titles.map((title, column) => text(at(column), y + 40, title, faint, 11));
  const rows = names.map((name, row) => {
    const cells = titles.map((title, column) => {
      const value = lines.find(found => found.name === name && found.column === title)?.points.at(-1)?.[1];
      const unit = panel.units?.[title] ?? panel.unit;
      return text(at(column), y + 60 + row * 18, value === undefined ? '' : formatted(value, unit), ink, 11);
    });
    return text(x + 8, y + 60 + row * 18, name, ink, 11) + cells.join('');
  });
  return head.join('') + rows.join('');
}

function chartOf({ panel, lines }: Answer, { x, y, w, h }: Box): string {
  const plot = { x: x + 58, y: y + 28, w: w - 68, h: h - 72 };
  const areas = panel.kind === 'stacked';
  const shown = areas ? stacked(lines) : lines;
  const all = shown.flatMap(({ points }) => points);
  if (all.length === 0) return text(x + w / 2, y + h / 2, 'no data', faint, 12, 'normal', 'middle');
  const [from, to] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  const top = Math.max(...all.map(([, value]) => value)) * 1.1 || 1;
  const px = (at: number) => (plot.x + ((at - from) / (to - from || 1)) * plot.w).toFixed(1);
  const py = (value: number) => (plot.y + plot.h - (value / top) * plot.h).toFixed(1);
  const axis = [0, 0.5, 1].map(share => {
    const level = top * share;
    const mark = `<path d="M${plot.x} ${py(level)}h${plot.w}" stroke="#2c2f34"/>`;
    return (
      mark + text(plot.x - 6, Number(py(level)) + 4, formatted(level, panel.unit), faint, 10, 'normal', 'end')
    );
  });
  const along = (points: Line['points']) => points.map(([at, value]) => `${px(at)} ${py(value)}`).join('L');
  const paths = shown.map(({ points }, at) => {
    const colour = colours[at % colours.length];
    const below = areas ? (shown[at - 1]?.points ?? points.map(([time]) => [time, 0] as const)) : [];
    const area = areas
      ? `<path d="M${along(points)}L${along(below.toReversed())}Z" fill="${colour}" fill-opacity="0.6"/>`
      : '';
    return `${area}<path d="M${along(points)}" fill="none" stroke="${colour}" stroke-width="1.4"/>`;
  });
  return axis.join('') + paths.join('') + legend(lines, { x: plot.x, y: y + h - 30, w: plot.w, h: 30 });
}

/** Each line on top of those before it, at every time that any of them has: one without a point there adds nothing. */
function stacked(lines: readonly Line[]): Line[] {
  const times = [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const sums = new Map<number, number>();
  return lines.map(({ name, points }) => {
    const values = new Map(points);
    const tops = times.map(at => {
      const sum = (sums.get(at) ?? 0) + (values.get(at) ?? 0);
      sums.set(at, sum);
      return [at, sum] as const;
    });
    return { name, points: tops };
  });
}

function legend(lines: readonly Line[], { x, y, w }: Box): string {
  const parts: string[] = [];
  let [at, row] = [0, 0];
  for (const [number, { name }] of lines.entries()) {
    const length = name.length * 5.6 + 22;
    if (at + length > w && at > 0) [at, row] = [0, row + 1];
    if (row > 1) {
      parts.push(text(x + w, y + 20, `+ ${lines.length - number} more`, faint, 10, 'normal', 'end'));
      break;
    }
    parts.push(
      `<rect x="${x + at}" y="${y + row * 13 + 2}" width="10" height="3" fill="${colours[number % colours.length]}"/>`,
    );
    parts.push(text(x + at + 14, y + row * 13 + 7, name, faint, 10));
    at += length;
  }
  return parts.join('');
}

function text(
  x: number,
  y: number,
  content: string,
  fill: string,
  size: number,
  weight = 'normal',
  anchor = 'start',
): string {
  const safe = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(0)}" y="${y.toFixed(0)}" fill="${fill}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">${safe}</text>`;
}
