import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { ChunkTimes } from '../../../../../../src/gateway/upstream/attempt/chunk-times.ts';
import { ClientMetrics } from '../../../../../../src/telemetry/client-metrics.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../../sample-exchange.ts';

it('measures from sending for the first chunk and from the one before for others, also when chunks come together', async () => {
  const clock = new FakeClock();
  const exchange = sampleExchange({ request: { stream: true }, start: { clock } });
  const attempt = exchange.beginAttempt({ provider: 'a', model: 'm' });
  const registry = new Registry();
  clock.advance(500);
  const times = new ChunkTimes(exchange, 'a', new ClientMetrics(registry), attempt);
  clock.advance(90);
  times.arrived(3);
  clock.advance(10);
  times.arrived(1);
  expect(times.first_ms).toBe(500);
  const text = await registry.metrics();
  const labels =
    '{gen_ai_operation_name="chat",gen_ai_provider_name="",sluice_provider="a",gen_ai_request_model="_other"}';
  for (const [name, sum, count] of [
    ['time_to_first_chunk', 0.5, 1],
    ['time_per_output_chunk', 0.1, 4],
  ] as const) {
    const metric = `gen_ai_client_operation_${name}_seconds`;
    expect(text).toContain(`${metric}_count${labels} ${count}\n`);
    expect(Number(text.split(`${metric}_sum${labels} `)[1]!.split('\n')[0])).toBeCloseTo(sum, 9);
  }
});
