import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { BodyMetrics } from '../../../../src/telemetry/body-metrics.ts';

it('shows the bytes held now, and refusals as 0 before the first', async () => {
  const registry = new Registry();
  const metrics = new BodyMetrics(registry);
  metrics.buffered.inc(100);
  metrics.buffered.inc(-40);
  metrics.refused('total');
  expect((await registry.metrics()).split('\n').filter(line => /^\w/.test(line))).toEqual([
    'sluice_buffered_request_bytes 60',
    'sluice_buffer_refusals_total{bound="account"} 0',
    'sluice_buffer_refusals_total{bound="total"} 1',
  ]);
});
