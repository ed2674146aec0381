import type { Panel } from './panel.ts';

/** Panels under one heading. */
export interface Row {
  /** As a panel's. */
  readonly id: number;
  readonly title: string;
  /** How many charts stand next to each other. */
  readonly across: number;
  readonly panels: readonly Panel[];
}

export const row = (id: number, title: string, across: number, panels: readonly Panel[]): Row => ({
  id,
  title,
  across,
  panels,
});

/** A place on Grafana's grid of 24 columns. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const columns = 24;
const heights = { stat: 4, series: 8, stacked: 8, table: 6 } as const;

/** The places of rows' headings and of panels, from left to right and from top to bottom. */
export function layout(rows: readonly Row[]): ReadonlyMap<Row | Panel, Place> {
  const places = new Map<Row | Panel, Place>();
  let y = 0;
  for (const row of rows) {
    places.set(row, { x: 0, y, w: columns, h: 1 });
    y += 1;
    let [x, tallest] = [0, 0];
    for (const panel of row.panels) {
      const [w, h] = [panel.width ?? widthOf(panel.kind, row), panel.height ?? heights[panel.kind]];
      if (x + w > columns) [x, y, tallest] = [0, y + tallest, 0];
      places.set(panel, { x, y, w, h });
      [x, tallest] = [x + w, Math.max(tallest, h)];
    }
    y += tallest;
  }
  return places;
}

function widthOf(kind: Panel['kind'], { across }: Row): number {
  if (kind === 'stat') return 3;
  return kind === 'table' ? columns : columns / across;
}
