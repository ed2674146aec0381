import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { boards } from '../../../grafana/src/boards.ts';
import type { Panel } from '../../../grafana/src/panel.ts';
import { type Answer, type Line, picture } from '../../../grafana/src/picture.ts';
import { startFaultyService } from '../../support/faulty-load.ts';
import { allSelected, filled, type Variables } from '../../support/grafana-variables.ts';
import { type PrometheusSeries, PrometheusServer } from '../../support/prometheus.ts';
import { root } from '../processes.ts';
import { defineTool } from '../tool.ts';

const seconds = 90;

/** Draws the dashboards from a minute and a half of load with faults, as Prometheus saw it. */
export const tool = defineTool({
  about: 'Needs Prometheus.',
  async run() {
    const service = await startFaultyService();
    const prometheus = await PrometheusServer.start([service.gateway.adminUrl]);
    try {
      await service.load(AbortSignal.timeout((seconds + 10) * 1000));
      const variables = { ...(await allSelected(prometheus)), __rate_interval: '15s' };
      // One end for all queries, or what is stacked would not lie on what it stands on.
      const end = Date.now() / 1000;
      for (const board of boards) {
        const answers = new Map<Panel, Answer>();
        for (const { panels } of board.rows)
          for (const panel of panels) answers.set(panel, await answerTo(prometheus, variables, end, panel));
        writeFileSync(join(root, `grafana/pictures/${board.uid}.svg`), picture(board, answers));
      }
    } finally {
      await prometheus.close();
      await service.close();
    }
    return true;
  },
});

/** What Prometheus had of a panel in the `seconds` before `end`. */
async function answerTo(
  prometheus: PrometheusServer,
  variables: Variables,
  end: number,
  panel: Panel,
): Promise<Answer> {
  const lines: Line[] = [];
  for (const [legend, expr] of Object.entries(panel.queries)) {
    const series = await prometheus.range(filled(expr, variables), end, seconds, 3);
    lines.push(...series.map(found => ({ ...named(panel, legend, found), points: pointsOf(found) })));
  }
  return { panel, lines: lines.filter(({ points }) => points.length > 0) };
}

function named({ kind }: Panel, legend: string, { metric }: PrometheusSeries): Omit<Line, 'points'> {
  if (kind === 'table') return { name: Object.values(metric).join(' '), column: legend };
  return { name: legend.replace(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '') };
}

const pointsOf = ({ values = [] }: PrometheusSeries): (readonly [number, number])[] =>
  values.map(([at, value]) => [at, Number(value)] as const).filter(([, value]) => Number.isFinite(value));
