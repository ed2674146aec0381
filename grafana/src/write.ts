import { writeFileSync } from 'node:fs';
import { boards } from './boards.ts';
import { dashboardOf } from './dashboard.ts';

/** Writes the dashboards as Grafana imports them: `npm run grafana`. */
for (const board of boards) {
  const file = new URL(`../dashboards/${board.uid}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(dashboardOf(board), null, 2)}\n`);
}
