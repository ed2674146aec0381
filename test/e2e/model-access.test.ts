import { afterEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { auth, modelAccess, validation } from '../../src/index.ts';
import { chainOf, post } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { whole as foreignReply } from '../support/foreign-replies.ts';
import { ask, clientKey, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

afterEach(closeApps);

describe('model-access', () => {
  it('refuses a model that the plan does not list, before the upstream, and leaves the catalog as it is', async () => {
    const upstream = alongside(await startScriptedUpstream(whole(200, completion('Yes.'))));
    const gateway = alongside(
      await startGateway({
        upstream,
        stages: [
          'error-envelope',
          'auth',
          'validation',
          { 'model-access': { plans: { free: ['aion-labs/aion-3.0'] } } },
        ],
        config: { accounts: { tester: { plan: 'free', keys: [{ value: clientKey }] } }, plans: { free: {} } },
      }),
    );
    const openai = new OpenAI({ apiKey: clientKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const asked = (model: string) =>
      openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello?' }] });
    await expect(asked('aion-labs/aion-3.5')).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining(
        "model: this account may not use 'aion-labs/aion-3.5'; it may use: aion-labs/aion-3.0.",
      ),
    });
    expect(upstream.requests).toHaveLength(0);
    expect((await asked('aion-labs/aion-3.0')).choices[0]?.message.content).toBe('Yes.');
    const models = await openai.models.list();
    expect(models.data.map(({ id }) => id)).toContain('aion-labs/aion-3.5');
  });

  it('asks the application in front of a handler', async () => {
    const own = new Map([['tester', ['aion-labs/aion-3.5']]]);
    const stages = [
      auth(),
      validation(),
      modelAccess({ allowed: async account => own.get(account?.id ?? '') ?? [], allowed_ttl_s: 0 }),
    ];
    const { url } = await startApp(app =>
      app.use(chainOf(stages) as never, (_, response) => {
        response.type('application/json').send(foreignReply);
      }),
    );
    const statusOf = async () => (await post(`${url}/v1/chat/completions`, ask('Hello?'))).status;
    expect(await statusOf()).toBe(200);
    own.clear();
    expect(await statusOf()).toBe(400);
  });
});
