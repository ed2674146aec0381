import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { boards } from './boards.ts';
import { dashboardOf } from './dashboard.ts';

/** The dashboards as Grafana imports them, by the paths of their files. */
export const dashboardFiles = (): ReadonlyMap<string, string> =>
  new Map(
    boards.map(board => [
      fileURLToPath(new URL(`../dashboards/${board.uid}.json`, import.meta.url)),
      `${JSON.stringify(dashboardOf(board), null, 2)}\n`,
    ]),
  );

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  for (const [path, text] of dashboardFiles()) writeFileSync(path, text);
