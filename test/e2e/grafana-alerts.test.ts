import { describe, expect, it } from '@jest/globals';
import { startGateway } from '../support/gateway-under-test.ts';
import { promtool } from '../support/prometheus.ts';

describe('promtool', () => {
  it('accepts the alert rules', async () => {
    const { code, output } = await promtool(['check', 'rules', 'grafana/alerts/sluice.rules.yaml']);
    expect([code, output]).toEqual([0, expect.stringMatching(/SUCCESS: \d\d rules found/)]);
  });

  it('passes the unit tests of every alert', async () => {
    const { code, output } = await promtool(['test', 'rules', 'grafana/alerts/sluice.rules.test.yaml']);
    expect([code, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  }, 180_000);

  it('accepts the metric names', async () => {
    const gateway = await startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      config: { metrics: { account_label: true } },
    });
    const text = await gateway.metrics();
    await gateway.close();
    // Of prom-client's own metrics it has things to say.
    const own = text.split('\n\n').filter(family => /^# HELP (?:sluice|gen_ai)_/.test(family));
    expect(own.length).toBeGreaterThan(30);
    expect(await promtool(['check', 'metrics'], `${own.join('\n')}\n`)).toEqual({ code: 0, output: '' });
  });
});
