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
  it('refuses a model that the plan does not list, before the upstream, and shows the others in the catalog', async () => {
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
    expect(models.data.map(({ id }) => id)).toEqual(['aion-labs/aion-3.0']);
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

describe('the models of an account and of a key', () => {
  const [small, large] = ['aion-labs/aion-3.0', 'aion-labs/aion-3.5'];
  const passthrough = [
    { path: '/v1/embeddings', provider: 'upstream' },
    { path: '/v1/engines/*', provider: 'upstream' },
    { path: '/v1/files', methods: ['GET' as const, 'POST' as const], provider: 'upstream' },
  ];
  const sendTo = async (url: string, path: string, body: object | undefined, key = clientKey) => {
    const response = await fetch(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };

  it.each<[string, object]>([
    [
      'a list of the account',
      { config: { accounts: { tester: { models: [small], keys: [{ value: clientKey }] } }, passthrough } },
    ],
    [
      'a list of the key',
      { config: { accounts: { tester: { keys: [{ value: clientKey, models: [small] }] } }, passthrough } },
    ],
    [
      'the stage',
      {
        stages: [
          'error-envelope',
          'auth',
          'validation',
          { 'model-access': { accounts: { tester: [small] } } },
        ],
        config: { accounts: { tester: { keys: [{ value: clientKey }] } }, passthrough },
      },
    ],
  ])('hold by %s for chats, for the catalog and for what is passed on unread', async (_, setting) => {
    const upstream = alongside(await startScriptedUpstream(whole(200, completion('Yes.'))));
    const { url } = alongside(await startGateway({ upstream, ...setting }));
    const chat = (model: string) => sendTo(url, '/v1/chat/completions', { ...ask('Hello?'), model });
    const embed = (model?: string, path = '/v1/embeddings') => sendTo(url, path, { model, input: 'x' });
    const refusals = [
      await chat(large),
      await embed(large),
      await embed('aion-3.5'),
      await embed('another'),
      await embed(),
      await embed(small, '/v1/engines/another/embeddings'),
      await sendTo(url, '/v1/files', {}),
    ];
    expect(refusals.map(({ status }) => status)).toEqual(Array(7).fill(400));
    expect(refusals[0]!.text).toContain(`it may use: ${small}.`);
    expect(upstream.requests).toHaveLength(0);
    expect((await chat(small)).status).toBe(200);
    expect((await embed(small)).status).toBe(200);
    expect((await embed(small, '/v1/engines/aion-3.0/embeddings')).status).toBe(200);
    expect((await sendTo(url, '/v1/files', undefined)).status).toBe(200);
    expect(upstream.requests[1]!.body).toEqual({ model: small, input: 'x' });
    const listed = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toContain(large);
    const own = JSON.parse((await sendTo(url, '/v1/models', undefined)).text) as typeof listed;
    expect(own.data.map(({ id }) => id)).toEqual([small]);
    const unknown = JSON.parse(
      (await sendTo(url, '/v1/models', undefined, 'sk-unknown')).text,
    ) as typeof listed;
    expect(unknown).toEqual(listed);
  });

  it('hold of a key behind which a handler answers, also on paths that the chain does not speak', async () => {
    const accounts = { tester: { keys: [{ value: clientKey, models: [small] }] } };
    const { url } = await startApp(app =>
      app.use(chainOf([auth(), validation()], { accounts }) as never, (_, response) => {
        response.type('application/json').send(foreignReply);
      }),
    );
    const status = async (path: string, body: object) => (await sendTo(url, path, body)).status;
    expect(await status('/v1/chat/completions', { ...ask('Hello?'), model: large })).toBe(400);
    expect(await status('/v1/chat/completions', { ...ask('Hello?'), model: small })).toBe(200);
    expect(await status('/v1/other', { model: large })).toBe(404);
  });
});
