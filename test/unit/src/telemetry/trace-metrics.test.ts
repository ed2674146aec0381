import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { registerTraceMetrics } from '../../../../src/telemetry/span-metrics.ts';

it('shows spans by outcome at each scrape', async () => {
  const registry = new Registry();
  const counts = { sent: 0, queue_full: 0, failed: 0 };
  registerTraceMetrics(registry, async fate => counts[fate]);
  expect(await registry.metrics()).toContain('sluice_spans_sent_total 0\n');
  Object.assign(counts, { sent: 7, queue_full: 2, failed: 1 });
  const text = await registry.metrics();
  expect(text).toContain('sluice_spans_sent_total 7\n');
  expect(text).toContain('sluice_spans_dropped_total{reason="queue_full"} 2\n');
  expect(text).toContain('sluice_spans_dropped_total{reason="failed"} 1\n');
});
