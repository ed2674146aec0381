import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { defaultModels } from '../../src/config/example-models.ts';
import { createGateway } from '../../src/index.ts';
import { ListenerMetrics } from '../../src/telemetry/listener-metrics.ts';
import { registerTraceMetrics } from '../../src/telemetry/span-metrics.ts';
import { WorkerPoolMetrics } from '../../src/telemetry/worker-pool-metrics.ts';
import { boards } from './boards.ts';
import { dashboardOf } from './dashboard.ts';
import { metricsTable } from './metrics-table.ts';

/** Every file here that is made from code, by its path: dashboards as Grafana imports them, the table of metrics in the README. */
export async function madeFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const board of boards) {
    const path = fileURLToPath(new URL(`../dashboards/${board.uid}.json`, import.meta.url));
    files.set(path, `${JSON.stringify(dashboardOf(board), null, 2)}\n`);
  }
  const readme = fileURLToPath(new URL('../README.md', import.meta.url));
  const table = await tableOfAllMetrics();
  files.set(
    readme,
    readFileSync(readme, 'utf8').replace(
      /(<!-- metrics -->\n)[\s\S]*?(<!-- end -->)/,
      (_, begin: string, end: string) => `${begin}${table}\n${end}`,
    ),
  );
  return files;
}

/** Markdown table of the metrics of a gateway with every feature enabled. */
async function tableOfAllMetrics(): Promise<string> {
  const gateway = await createGateway({
    log: { level: 'silent' },
    metrics: { account_label: true },
    providers: { local: { adapter: 'vllm', base_url: 'http://127.0.0.1:9/v1' } },
    models: defaultModels('local'),
  });
  registerTraceMetrics(gateway.registry, async () => 0);
  new ListenerMetrics(gateway.registry);
  new WorkerPoolMetrics(gateway.registry);
  try {
    return metricsTable(gateway.registry);
  } finally {
    await gateway.close(0);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [path, text] of await madeFiles()) writeFileSync(path, text);
}
