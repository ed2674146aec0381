import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Response as ExpressResponse, Request } from 'express';
import { Registry } from 'prom-client';
import { z } from 'zod';
import {
  auth,
  createChain,
  errorEnvelope,
  reasoningSplit,
  requestRewrite,
  validation,
} from '../../src/index.ts';
import { type Account, defineStage } from '../../src/plugin.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { createLog } from '../../src/telemetry/log.ts';
import {
  allStages,
  chainOf,
  type Echo,
  post,
  proxyTo,
  settlements,
  startEcho,
} from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { whole } from '../support/foreign-replies.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const accounts = { tester: { keys: [{ value: clientKey }] } };
let upstream: Awaited<ReturnType<typeof startEcho>>;

beforeAll(async () => {
  upstream = alongside(await startEcho());
});

afterAll(closeApps);

const echoOf = (text: string): Echo => JSON.parse(text);

describe('several chains on one request', () => {
  const chat = '/v1/chat/completions';
  const whoIsIt = () => {
    const seen: (Account | undefined)[] = [];
    const stage = defineStage({
      name: 'who-is-it',
      schema: z.strictObject({}),
      create: () => ({ onHeaders: ({ account }) => void seen.push(account) }),
    });
    return { seen, stage };
  };

  it('share the exchange, so that a later one sees the account found by an earlier one', async () => {
    const { seen, stage } = whoIsIt();
    const app = await startApp(app => {
      app.use(auth({ accounts }));
      app.use(stage());
      app.use(chainOf([validation()]), proxyTo(upstream));
    });
    const reply = await post(app.url + chat, ask('Hello?'));
    expect(reply.status).toBe(200);
    expect(seen).toMatchObject([{ id: 'tester' }]);
    expect((await post(app.url + chat, ask('Hello?', { model: 'unknown' }))).status).toBe(400);
  });

  it('keep the type and headers of a refusal by a later chain', async () => {
    const first = settlements();
    const app = await startApp(app => {
      app.use(chainOf([errorEnvelope({ openai_fields: true }), first.stage]));
      app.use(auth({ accounts }));
      app.use(chainOf([validation()]), proxyTo(upstream));
    });
    const unknown = await post(app.url + chat, ask('Hello?'), {
      authorization: 'Bearer sk-not-a-key-at-all',
    });
    expect(unknown.status).toBe(401);
    expect(unknown.headers.get('www-authenticate')).toBe('Bearer realm="api", error="invalid_token"');
    expect(await unknown.json()).toEqual({
      error: {
        message: 'Invalid API key.',
        type: 'authentication_error',
        param: null,
        code: 'invalid_api_key',
      },
    });
    const refused = await post(app.url + chat, ask('Hello?', { reasoning_effort: 'none' }));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { type: 'invalid_request_error', param: 'reasoning_effort' },
    });
    expect(first.outcomes).toMatchObject([
      { status: 401, error_type: 'authentication_error', end_reason: 'refused' },
      { status: 400, error_type: 'invalid_request_error', end_reason: 'refused' },
    ]);
  });

  it('pass the reply through the stages of all chains', async () => {
    const simulator = await startSimulator({ reasoning: 'tags' });
    const first = settlements();
    const second = settlements();
    const app = await startApp(app => {
      app.use(chainOf([errorEnvelope(), auth(), first.stage]));
      app.use(chainOf([reasoningSplit(), second.stage]), proxyTo(simulator));
    });
    const answer = '[[sim:say=The answer. reasoning_tokens=4]]';
    const plain = await post(
      app.url + chat,
      ask('Hello? [[sim:reasoning_tokens=4]] [[sim:say=The answer.]]'),
    );
    expect(await plain.json()).toMatchObject({
      choices: [{ message: { content: 'The answer.', reasoning: expect.any(String) } }],
    });
    const stream = await post(app.url + chat, ask(`Hello? ${answer}`, { stream: true }));
    expect(await stream.text()).toMatch(/"reasoning":.*"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
    const broken = await post(app.url + chat, ask('Hello? [[sim:reset=3]]', { stream: true }));
    const events = (await broken.text()).trim().split('\n\n').slice(-2);
    expect(events).toEqual([
      'data: {"error":{"message":"The upstream provider closed the stream unexpectedly.","type":"provider_error"}}',
      'data: [DONE]',
    ]);
    await simulator.close();
    const gone = await post(app.url + chat, ask('Hello?'));
    expect(gone.status).toBe(502);
    const ends = [
      { status: 200, end_reason: 'completed', account: 'tester' },
      { status: 200, end_reason: 'completed', account: 'tester' },
      { status: 200, end_reason: 'upstream_failed', error_type: 'provider_error' },
      { status: 502, end_reason: 'upstream_failed', error_type: 'provider_error' },
    ];
    expect(first.outcomes).toMatchObject(ends);
    expect(second.outcomes).toMatchObject(ends);
  });

  it('count an exchange once when they share a registry', async () => {
    const registry = new Registry();
    const app = await startApp(app => {
      app.use(auth({ accounts }));
      app.use(createChain([validation()], { log, registry }));
      app.use(createChain(allStages(), { accounts, log, registry }), proxyTo(upstream));
    });
    await post(app.url + chat, ask('Hello?'));
    const metrics = await registry.metrics();
    expect(metrics.match(/^sluice_requests_total\{.*\} 1$/gm)).toHaveLength(1);
    expect(metrics).toContain('sluice_in_flight{endpoint="chat.completions"} 0');
    expect(metrics).toMatch(
      /sluice_stage_refusals_total\{stage="validation",hook="onRequest",error_type="invalid_request_error"\} 1/,
    );
  });

  it('apply only their own change when each has one stage and no catalog', async () => {
    const app = await startApp(app => {
      app.use(requestRewrite({ set: { top_p: 0.5 } }), proxyTo(upstream));
    });
    const request = ask('Hello?', { model: 'own/model', reasoning_effort: 'medium', temperature: 1 });
    const echo = echoOf(await (await post(app.url + chat, request)).text());
    expect(JSON.parse(echo.text)).toEqual({ ...request, top_p: 0.5 });
  });

  it('translate the responses endpoint only once', async () => {
    const simulator = alongside(await startSimulator());
    const responses = { from_chat: true };
    const app = await startApp(app => {
      app.use(auth({ accounts }));
      app.use(chainOf(allStages(), { responses }));
      app.use(chainOf([validation()], { responses }), proxyTo(simulator));
    });
    const asked = { model: 'aion-labs/aion-3.5', input: 'Hello [[sim:say=Hello there.]]' };
    for (const stream of [false, true]) {
      const reply = await post(`${app.url}/v1/responses`, { ...asked, stream });
      const text = await reply.text();
      expect(reply.status).toBe(200);
      expect(text).toContain('"object":"response"');
      expect(text).toContain('Hello there.');
      expect(text).not.toContain('chat.completion');
    }
    const refused = await post(`${app.url}/v1/responses`, { ...asked, model: 'nobody/knows' });
    expect(refused.status).toBe(400);
  });

  it.each([
    ['the last one transforms', []],
    ['both transform', [errorEnvelope()]],
  ])('answer 524 once and settle when the reply has been read, where %s it', async (_, stages) => {
    const responses: ExpressResponse[] = [];
    const [first, second] = [settlements(), settlements()];
    const app = await startApp(app => {
      app.use(chainOf([first.stage, ...stages, auth()], { non_stream_timeout_ms: 500 }));
      app.use(
        chainOf([second.stage, ...allStages().slice(2)], { non_stream_timeout_ms: 500 }),
        (_: Request, response: ExpressResponse) => void responses.push(response),
      );
    });
    const reply = await post(app.url + chat, ask('Hello?'));
    expect([reply.status, await reply.json()]).toMatchObject([524, { error: { type: 'timeout_error' } }]);
    expect([first.outcomes, second.outcomes]).toEqual([[], []]);
    responses[0]!.type('application/json').send(whole);
    await until(() => first.outcomes.length === 1 && second.outcomes.length === 1);
    for (const { outcomes } of [first, second])
      expect(outcomes).toMatchObject([
        { status: 524, end_reason: 'time_limit', usage: { completion_tokens: 4 } },
      ]);
  });
});
