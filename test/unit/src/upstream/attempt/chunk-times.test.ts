import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { ClientMetrics } from '../../../../../src/telemetry/client-metrics.ts';
import { ChunkTimes } from '../../../../../src/upstream/attempt/chunk-times.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

it('measures the first chunk from sending and the others from the one before, also when chunks come together', async () => {
  const registry = new Registry();
  const clock = new FakeClock();
  const exchange = sampleExchange({ start: { clock } });
  const times = new ChunkTimes(exchange, 'a', new ClientMetrics(registry), clock.elapsed_ms());
  const arrived = (after_ms: number, count: number) => {
    clock.advance(after_ms);
    times.arrived(count);
  };
  arrived(300, 0);
  arrived(200, 1);
  arrived(60, 0);
  arrived(30, 3);
  arrived(10, 1);
  const text = await registry.metrics();
  const labels = '{gen_ai_provider_name="a",gen_ai_request_model="_other"}';
  for (const [name, sum, count] of [
    ['time_to_first_chunk', 0.5, 1],
    ['time_per_output_chunk', 0.1, 4],
  ] as const) {
    const metric = `gen_ai_client_operation_${name}_seconds`;
    expect(text).toContain(`${metric}_count${labels} ${count}\n`);
    expect(Number(text.split(`${metric}_sum${labels} `)[1]!.split('\n')[0])).toBeCloseTo(sum, 9);
  }
});
