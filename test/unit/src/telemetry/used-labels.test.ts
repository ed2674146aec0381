import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { MetricFactory, pluginMetrics } from '../../../../src/telemetry/metric-factory.ts';
import { UsedLabels } from '../../../../src/telemetry/used-labels.ts';

describe('the series of names that are used no longer', () => {
  it('are removed once the last of two gateways on a registry has forgotten them', async () => {
    const registry = new Registry();
    const counter = new MetricFactory(registry).counter({
      name: 'calls',
      help: 'x',
      labels: ['stage', 'from'],
    });
    const own = pluginMetrics(registry, 'mine').counter({ name: 'calls', help: 'x', labels: ['from'] });
    for (const from of ['one', 'two']) {
      counter.labels('a', from).inc();
      own.labels(from).inc();
    }
    const shown = async () => {
      const lines = (await registry.metrics()).split('\n').filter(line => line.includes('from="one"'));
      return lines.map(line => line.split('{')[0]);
    };
    const uses = [new UsedLabels(registry, [['from', 'one']]), new UsedLabels(registry, [['from', 'one']])];
    expect(uses[0]!.forget()).toEqual([]);
    expect(await shown()).toEqual(['calls', 'sluice_mine_calls']);
    expect(uses[1]!.forget()).toEqual([['from', 'one']]);
    expect(await shown()).toEqual(['sluice_mine_calls']);
    expect(await registry.metrics()).toContain('calls{stage="a",from="two"} 1');
    counter.labels('a', 'one').inc();
    expect(await registry.metrics()).toContain('calls{stage="a",from="one"} 1');
  });

  it('stay after the gateway has closed', async () => {
    const registry = new Registry();
    new MetricFactory(registry)
      .counter({ name: 'calls', help: 'x', labels: ['from'] })
      .labels('one')
      .inc();
    new UsedLabels(registry, [['from', 'one']]).release();
    expect(await registry.metrics()).toContain('calls{from="one"} 1');
  });
});
