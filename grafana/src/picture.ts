import type { Board } from './dashboard.ts';
import { formatted } from './format.ts';
import type { Panel } from './panel.ts';

/** What Prometheus answered to one query: a line for each series. */
export interface Line {
  readonly name: string;
  /** Seconds since 1970 and values. */
  readonly points: readonly (readonly [number, number])[];
}

/** A panel with what its queries brought. */
export interface Answer {
  readonly panel: Panel;
  readonly lines: readonly Line[];
}

const width = 1200;
const column = width / 24;
const [stat_height, chart_height, row_height] = [84, 210, 30];
const colours = ['#7eb26d', '#eab839', '#6ed0e0', '#ef843c', '#e24d42', '#5794f2', '#b877d9', '#8f8f8f'];
const [ink, faint, ground, tile] = ['#d8d9da', '#8e9297', '#111217', '#181b1f'];

/** A dashboard drawn as a picture, much as Grafana shows it. */
export function picture(board: Board, answers: ReadonlyMap<Panel, Answer>): string {
  const parts: string[] = [];
  let y = 40;
  for (const { title, panels } of board.rows) {
    parts.push(text(12, y + 20, title, ink, 14, 'bold'));
    y += row_height;
    let x = 0;
    let tallest = 0;
    for (const panel of panels) {
      const answer = withoutZeros(answers.get(panel) ?? { panel, lines: [] });
      const span = (panel.width ?? (panel.kind === 'stat' ? 4 : 12)) * column;
      if (x + span > width) [x, y, tallest] = [0, y + tallest, 0];
      const box = {
        x: x + 3,
        y: y + 3,
        w: span - 6,
        h: (panel.kind === 'stat' ? stat_height : chart_height) - 6,
      };
      parts.push(drawn(answer, box));
      x += span;
      tallest = Math.max(tallest, box.h + 6);
    }
    y += tallest;
  }
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 8}" font-family="Inter, Helvetica, Arial, sans-serif">`;
  const name = `<title>The dashboard ${board.title}, drawn from what Prometheus answered</title>`;
  const back = `<rect width="${width}" height="${y + 8}" fill="${ground}"/>`;
  return `${head}${name}${back}${text(12, 26, `sluice: ${board.title}`, ink, 18, 'bold')}\n${parts.join('\n')}\n</svg>\n`;
}

/** What is stacked and always zero would only hide what is not. */
function withoutZeros({ panel, lines }: Answer): Answer {
  if (panel.kind !== 'stacked') return { panel, lines };
  return { panel, lines: lines.filter(({ points }) => points.some(([, value]) => value > 0)) };
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

function drawn(answer: Answer, box: Box): string {
  const frame = `<rect x="${box.x}" y="${box.y}" width="${box.w}" height="${box.h}" rx="3" fill="${tile}"/>`;
  const title = text(box.x + 8, box.y + 17, answer.panel.title, ink, 12);
  return frame + title + (answer.panel.kind === 'stat' ? statOf(answer, box) : chartOf(answer, box));
}

function statOf({ panel, lines }: Answer, { x, y, w, h }: Box): string {
  const last = lines[0]?.points.at(-1)?.[1];
  const shown = last === undefined ? 'no data' : formatted(last, panel.unit);
  return text(x + w / 2, y + h - 20, shown, statColour(panel, last), 26, 'bold', 'middle');
}

function statColour({ thresholds }: Panel, value: number | undefined): string {
  if (!thresholds || value === undefined) return colours[5]!;
  if (value >= thresholds.bad) return colours[4]!;
  return value >= thresholds.warn ? colours[1]! : colours[0]!;
}

function chartOf({ panel, lines }: Answer, { x, y, w, h }: Box): string {
  const plot = { x: x + 58, y: y + 28, w: w - 68, h: h - 72 };
  const shown = panel.kind === 'stacked' ? stacked(lines) : lines;
  const all = shown.flatMap(({ points }) => points);
  if (all.length === 0) return text(x + w / 2, y + h / 2, 'no data', faint, 12, 'normal', 'middle');
  const [from, to] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  const top = Math.max(...all.map(([, value]) => value)) * 1.1 || 1;
  const px = (at: number) => (plot.x + ((at - from) / (to - from || 1)) * plot.w).toFixed(1);
  const py = (value: number) => (plot.y + plot.h - (value / top) * plot.h).toFixed(1);
  const axis = [0, 0.5, 1].map(share => {
    const level = top * share;
    const line = `<path d="M${plot.x} ${py(level)}h${plot.w}" stroke="#2c2f34"/>`;
    return (
      line + text(plot.x - 6, Number(py(level)) + 4, formatted(level, panel.unit), faint, 10, 'normal', 'end')
    );
  });
  const paths = shown.map(({ points }, at) => {
    const d = points
      .map(([time, value], point) => `${point === 0 ? 'M' : 'L'}${px(time)} ${py(value)}`)
      .join('');
    return `<path d="${d}" fill="none" stroke="${colours[at % colours.length]}" stroke-width="1.4"/>`;
  });
  return axis.join('') + paths.join('') + legend(lines, { x: plot.x, y: y + h - 30, w: plot.w, h: 30 });
}

/** Each line on top of those before it. */
function stacked(lines: readonly Line[]): Line[] {
  const sums = new Map<number, number>();
  return lines.map(({ name, points }) => ({
    name,
    points: points.map(([at, value]) => {
      const sum = (sums.get(at) ?? 0) + value;
      sums.set(at, sum);
      return [at, sum] as const;
    }),
  }));
}

function legend(lines: readonly Line[], { x, y, w }: Box): string {
  const parts: string[] = [];
  let [at, row] = [0, 0];
  for (const [number, { name }] of lines.entries()) {
    const length = name.length * 5.6 + 22;
    if (at + length > w && at > 0) [at, row] = [0, row + 1];
    if (row > 1) break;
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
