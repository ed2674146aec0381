import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { fixtureOf } from '../support/provider-fixtures.ts';
import { written } from '../support/provider-setting.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

let bought: ScriptedUpstream;
let own: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeEach(async () => {
  [bought, own] = await Promise.all([startScriptedUpstream(), startScriptedUpstream()]);
  gateway = await startGateway({
    upstream: bought,
    config: {
      providers: {
        bought: { adapter: 'anthropic', base_url: bought.url, api_key: 'sk-ant-0123456789' },
        own: { adapter: 'vllm', base_url: own.url },
      },
      models: defaultModels('own').map(model => ({
        ...model,
        upstreams: [
          { provider: 'bought', model: 'claude-opus-4-5', priority: 1 },
          { provider: 'own', model: 'aion-3.5', priority: 2 },
        ],
      })) as GatewayConfig['models'],
    },
  });
});

afterEach(async () => {
  await gateway.close();
  await Promise.all([bought.close(), own.close()]);
});

const bothWays = [true, false];

describe('a model served by upstreams of two formats', () => {
  it.each(bothWays)(
    "is answered in the second upstream's format when the first fails; streamed: %s",
    async stream => {
      bought.reply(whole(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }));
      own.reply(written(fixtureOf('vllm', 'answer'), stream));
      const reply = await gateway.post(ask('Hello', { stream, seed: 7, temperature: 0.2 }));
      expect(reply.status).toBe(200);
      expect(await reply.text()).toContain('Water cuts');
      expect(bought.last.body).toMatchObject({ model: 'claude-opus-4-5', thinking: { type: 'enabled' } });
      expect(own.last.body).toMatchObject({
        model: 'aion-3.5',
        seed: 7,
        temperature: 0.2,
        reasoning_effort: 'high',
      });
      expect(own.last.headers).not.toHaveProperty('x-api-key');
      // What the first would not have taken is no matter of the reply's.
      expect(reply.headers.get('x-ignored-parameters')).toBeNull();
    },
  );

  it.each(bothWays)(
    'goes to the upstream that supports the request when the other does not; streamed: %s',
    async stream => {
      own.reply(written(fixtureOf('vllm', 'answer'), stream));
      for (const more of [{ n: 2 }, { response_format: { type: 'json_object' } }]) {
        const reply = await gateway.post(ask('Hello', { stream, ...more }));
        expect(reply.status).toBe(200);
        await reply.text();
      }
      expect(bought.requests).toEqual([]);
      expect(own.requests).toHaveLength(2);
    },
  );

  it('reports the fields that the answering upstream does not accept', async () => {
    bought.reply(written(fixtureOf('anthropic', 'answer'), false));
    const reply = await gateway.post(ask('Hello', { seed: 7 }));
    expect(reply.headers.get('x-ignored-parameters')).toBe('seed');
    expect(own.requests).toEqual([]);
  });
});
