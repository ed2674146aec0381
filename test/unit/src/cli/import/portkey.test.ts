import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { portkeySamples } from './imported-samples.ts';
import { directory, expectImported, imported } from './importing.ts';

afterAll(() => rmSync(directory, { recursive: true }));

const fileOf = (name: string): string => `test/fixtures/import/portkey/${name}.json`;

describe('sluice import portkey', () => {
  it.each(Object.entries(portkeySamples))(
    'brings over what has a counterpart, and lists the rest: %s',
    async (name, expected) => {
      await expectImported('portkey', fileOf(name), expected);
    },
  );

  it('keeps retries, times and the cache, and names the keys that Portkey keeps', async () => {
    const { config, report } = await imported('portkey', fileOf('support-chat'));
    expect(config.models[0]!.routing).toEqual({ max_attempts: 5, retries_per_upstream: 3 });
    expect(config.stages!.at(-1)).toEqual({ 'response-cache': { ttl_s: 60 } });
    expect(report).toContain('set COHERE_A1B2C3 to the key that Portkey keeps as cohere-a1b2c3');
    const { config: timed } = await imported('portkey', fileOf('cheapest-first'));
    expect(timed.providers.ollama).toEqual({
      adapter: 'ollama',
      base_url: 'https://ollama.example.com/v1',
      idle_timeout_ms: 20_000,
      first_token_timeout_ms: 20_000,
    });
  });
});
