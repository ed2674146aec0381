import { describe, expect, it } from '@jest/globals';
import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import { MetricFactory } from '../../../../src/telemetry/metric-factory.ts';
import { openMetricsOf, openMetricsType, wantsOpenMetrics } from '../../../../src/telemetry/open-metrics.ts';

describe('the OpenMetrics format', () => {
  it('names counters without their suffix, and leaves the registry unchanged', async () => {
    const registry = new Registry();
    new MetricFactory(registry).counter({ name: 'own_total', help: 'Own.' });
    new Counter({ name: 'theirs_total', help: 'Theirs.', registers: [registry] });
    const plain = await registry.metrics();
    for (let scrape = 0; scrape < 2; scrape++)
      expect(await openMetricsOf(registry)).toBe(
        '# HELP own Own.\n# TYPE own counter\nown_total 0\n' +
          '# HELP theirs Theirs.\n# TYPE theirs counter\ntheirs_total 0\n# EOF\n',
      );
    expect(await registry.metrics()).toBe(plain);
    expect(plain).toContain('# TYPE own_total counter\nown_total 0');
  });

  it('shows the trace of a bucket, which the plain format leaves out', async () => {
    const registry = new Registry();
    const waits = new MetricFactory(registry).histogram({ name: 'waits', help: 'Waits.', buckets: [1] });
    waits.labels().observe(0.5, 'abc');
    expect(await openMetricsOf(registry)).toMatch(
      /^waits_bucket\{le="1"\} 1 # \{trace_id="abc"\} 0\.5 \d+\.\d{3}$/m,
    );
    expect(await registry.metrics()).not.toContain('abc');
  });

  it("includes Node's own metrics", async () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    expect(await openMetricsOf(registry)).toMatch(/^process_cpu_user_seconds_total [\d.e-]+$/m);
  });

  it('is chosen by the Accept header of the scraper', () => {
    expect(wantsOpenMetrics('application/openmetrics-text; version=1.0.0,text/plain;q=0.5')).toBe(true);
    expect([wantsOpenMetrics('text/plain'), wantsOpenMetrics(undefined)]).toEqual([false, false]);
    expect(openMetricsType).toContain('application/openmetrics-text');
  });
});
