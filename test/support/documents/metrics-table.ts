import { defaultModels } from '../../../src/config/example-models.ts';
import { createGateway } from '../../../src/index.ts';
import { ListenerMetrics } from '../../../src/telemetry/listener-metrics.ts';
import { registerTraceMetrics } from '../../../src/telemetry/span-metrics.ts';
import { WorkerPoolMetrics } from '../../../src/telemetry/worker-pool-metrics.ts';

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

/** The metrics of a gateway with every feature enabled, as a table in Markdown. */
export async function metricsTable(): Promise<string> {
  const { registry, close } = await createGateway({
    log: { level: 'silent' },
    metrics: { account_label: true },
    notices: { webhooks: { ops: { url: 'http://127.0.0.1:9/', secrets: [`whsec_${'a'.repeat(32)}`] } } },
    providers: { local: { adapter: 'vllm', base_url: 'http://127.0.0.1:9/v1' } },
    models: defaultModels('local'),
  });
  registerTraceMetrics(registry, async () => 0);
  new ListenerMetrics(registry);
  new WorkerPoolMetrics(registry);
  const all = registry.getMetricsAsArray() as unknown as Described[];
  await close(0);
  const rows = all
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map(({ name, help, type, labelNames = [] }) => {
      const labels = labelNames.map(label => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
    });
  return ['| metric | type | labels | |', '|---|---|---|---|', ...rows].join('\n');
}
