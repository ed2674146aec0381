import { describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/catalog/default-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { ConfigError } from '../../src/diagnostics/config-error.ts';
import { createGateway } from '../../src/gateway.ts';
import { startGateway } from '../support/gateway-under-test.ts';

describe('a price in the configuration', () => {
  const withPrice = (prompt: unknown): GatewayConfig =>
    ({
      providers: { upstream: { adapter: 'vllm', base_url: 'http://127.0.0.1:9/v1' } },
      models: defaultModels('upstream').map(entry => ({ ...entry, pricing: { ...entry.pricing, prompt } })),
    }) as GatewayConfig;

  it.each([7.5e-7, '7.5e-7', '-1', '', '.5', '1,5', 'free'])('is rejected as %p', async price => {
    await expect(createGateway(withPrice(price))).rejects.toThrow(ConfigError);
    await expect(createGateway(withPrice(price))).rejects.toThrow(/models\[0\]\.pricing\.prompt/);
  });

  it.each(['0', '0.00000000001', '12.50'])('is shown exactly as written: %s', async price => {
    const other = await startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      config: { models: withPrice(price).models },
    });
    const { data } = (await fetch(`${other.url}/v1/models`)
      .then(reply => reply.json())
      .finally(other.close)) as { data: { pricing: { prompt: unknown } }[] };
    expect(data[0]?.pricing.prompt).toBe(price);
  });
});
