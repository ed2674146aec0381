import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { registerLogMetrics } from '../../../../src/telemetry/log.ts';
import { standardOutput } from '../../../../src/telemetry/standard-output.ts';

it('shows the number of dropped log lines up to each scrape', async () => {
  const registry = new Registry();
  registerLogMetrics(registry);
  registerLogMetrics(registry);
  const before = standardOutput.dropped_lines;
  expect(await registry.metrics()).toContain(`sluice_log_dropped_lines_total ${before}\n`);
  standardOutput.dropped_lines += 3;
  expect(await registry.metrics()).toContain(`sluice_log_dropped_lines_total ${before + 3}\n`);
  standardOutput.dropped_lines = before;
});
