import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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
import { type Account, defineStage, GatewayError } from '../../src/plugin.ts';
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
import { closeApps, startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';

const log = createLog('silent');
const accounts = { tester: { keys: [{ value: clientKey }] } };
const credentials = { authorization: `Bearer ${clientKey}` };
let upstream: Awaited<ReturnType<typeof startEcho>>;

beforeEach(async () => {
  upstream = await startEcho();
});

afterEach(async () => {
  await closeApps();
  await upstream.close();
});

const echoOf = (text: string): Echo => JSON.parse(text);

describe('other endpoints behind the chain', () => {
  it.each([
    ['GET', '/v1/models', false],
    ['GET', '/v1/models?after=x', false],
    ['GET', '/v1/files', true],
    ['POST', '/v1/embeddings', true],
    ['PUT', '/anything/at/all', true],
    ['GET', '/v1/chat/completions', true],
  ])('pass to the handler: %s %s', async (method, path, needsKey) => {
    const app = await startApp(app => app.use(chainOf(), proxyTo(upstream)));
    const body = method === 'GET' ? {} : { body: '  {"not": "touched" }\n' };
    const reply = await send(app.url + path, { method, ...body, headers: needsKey ? credentials : {} });
    expect(reply.status).toBe(200);
    expect(reply.headers['x-upstream']).toBe('echo');
    expect(echoOf(reply.text)).toMatchObject({ method, path, text: body.body ?? '' });
  });

  it('pass byte for byte, in both directions', async () => {
    const digests: string[] = [];
    const sent = randomBytes(3_000_000);
    const app = await startApp(app => {
      app.use(chainOf(), async (request, response) => {
        const hash = createHash('sha256');
        for await (const part of request) hash.update(part);
        digests.push(hash.digest('hex'));
        response.writeHead(206, 'Some Of It', { 'content-type': 'application/x-own', etag: '"own"' });
        response.end(sent);
      });
    });
    const reply = await fetch(`${app.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { ...credentials, 'content-type': 'application/octet-stream' },
      body: sent,
    });
    const digest = createHash('sha256').update(sent).digest('hex');
    expect(digests).toEqual([digest]);
    expect([reply.status, reply.statusText]).toEqual([206, 'Some Of It']);
    expect(reply.headers.get('content-type')).toBe('application/x-own');
    expect(reply.headers.get('etag')).toBe('"own"');
    expect(Buffer.from(await reply.arrayBuffer()).equals(sent)).toBe(true);
  });

  it('keep their own errors', async () => {
    const app = await startApp(app => {
      app.use(chainOf(), (_request, response) => void response.status(404).send('<p>nothing here</p>'));
    });
    const reply = await send(`${app.url}/v1/files/1`, { headers: credentials });
    expect([reply.status, reply.text]).toEqual([404, '<p>nothing here</p>']);
  });
});

describe('auth alone in front', () => {
  const protectedApp = () => startApp(app => app.use(auth({ accounts }), proxyTo(upstream)));

  it('refuses requests without a key on every endpoint, before their body is read', async () => {
    const app = await protectedApp();
    for (const path of ['/v1/embeddings', '/v1/chat/completions', '/elsewhere']) {
      const reply = await send(app.url + path, { method: 'POST', body: '{"unfinished": ' });
      expect(reply.status).toBe(401);
      expect(reply.headers['www-authenticate']).toBe('Bearer realm="api", Api-Key realm="api"');
      expect(JSON.parse(reply.text)).toEqual({
        error: { type: 'authentication_error', message: expect.stringContaining('Missing API key') },
      });
    }
  });

  it('leaves the body of others to the handler as it came, JSON or not', async () => {
    const app = await protectedApp();
    const text = '{"input": [ "a",  "b" ], "broken": ';
    for (const path of ['/v1/embeddings', '/v1/chat/completions']) {
      const reply = await send(app.url + path, { method: 'POST', headers: credentials, body: text });
      expect(echoOf(reply.text)).toMatchObject({ path, text });
    }
  });

  it('lets everyone see the catalog, and nobody more for the sake of it', async () => {
    const app = await protectedApp();
    expect((await send(`${app.url}/v1/models`)).status).toBe(200);
    expect((await send(`${app.url}/v1/models/`)).status).toBe(200);
    const guarded: [string, string][] = [
      ['POST', '/v1/models'],
      ['DELETE', '/v1/models'],
      ['GET', '/v1/models/secret'],
      ['GET', '/secret/v1/models'],
      ['GET', '/v1/files/v1/models'],
      ['GET', '//v1/models'],
      ['GET', '/secret?/v1/models'],
    ];
    for (const [method, path] of guarded) {
      const { status } = await send(app.url + path, { method });
      expect([method, path, status]).toEqual([method, path, 401]);
    }
  });

  it('knows its endpoints below the path at which it is mounted', async () => {
    const app = await startApp(app => {
      app.use('/llm', auth({ accounts }), proxyTo(upstream));
      app.use('/v1/models', auth({ accounts }), proxyTo(upstream));
    });
    expect((await send(`${app.url}/llm/v1/models`)).status).toBe(200);
    expect((await send(`${app.url}/v1/models`)).status).toBe(200);
    expect((await send(`${app.url}/llm/secret/v1/models`)).status).toBe(401);
    expect((await send(`${app.url}/llm/v1/embeddings`, { method: 'POST' })).status).toBe(401);
    const reply = await send(`${app.url}/llm/v1/embeddings`, { method: 'POST', headers: credentials });
    expect(echoOf(reply.text).path).toBe('/v1/embeddings');
  });

  it('works in front of a plain Node handler as well', async () => {
    const guard = auth({ accounts });
    const app = await startApp(app =>
      app.use((request, response) => guard(request, response, () => response.end('through'))),
    );
    expect((await send(`${app.url}/x`)).status).toBe(401);
    expect((await send(`${app.url}/x`, { headers: credentials })).text).toBe('through');
  });
});

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

  it('share the exchange: a later one sees the account that an earlier one found', async () => {
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

  it('leave a refusal by a later one what it is, though an earlier one looks back at errors', async () => {
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

  it('hand a reply up through all that look back', async () => {
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

  it('count an exchange once, on the first registry there is', async () => {
    const registry = new Registry();
    const app = await startApp(app => {
      app.use(auth({ accounts }));
      app.use(createChain([validation()], { accounts, log, registry }));
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

  it('of one stage each, without a catalog, change nothing but what they are for', async () => {
    const app = await startApp(app => {
      app.use(requestRewrite({ set: { top_p: 0.5 } }), proxyTo(upstream));
    });
    const request = ask('Hello?', { model: 'own/model', reasoning_effort: 'medium', temperature: 1 });
    const echo = echoOf(await (await post(app.url + chat, request)).text());
    expect(JSON.parse(echo.text)).toEqual({ ...request, top_p: 0.5 });
  });

  it('say nothing of a fault of a stage to the client, and end the exchange', async () => {
    const { outcomes, stage } = settlements();
    const faulty = defineStage({
      name: 'faulty',
      schema: z.strictObject({ as: z.enum(['fault', 'refusal']) }),
      create: ({ as }) => ({
        onRequest() {
          if (as === 'fault') throw new TypeError('secret of line 42');
          throw new GatewayError('teapot_error', 418, 'Short and stout.', { headers: { 'x-tea': 'oolong' } });
        },
      }),
    });
    const app = await startApp(app => {
      app.use('/fault', chainOf([stage, faulty({ as: 'fault' })]), proxyTo(upstream));
      app.use('/refusal', chainOf([stage, faulty({ as: 'refusal' })]), proxyTo(upstream));
    });
    const fault = await post(`${app.url}/fault${chat}`, ask('Hello?'));
    expect([fault.status, fault.headers.get('retry-after')]).toEqual([502, '1']);
    expect(await fault.text()).not.toMatch(/secret|TypeError|42/);
    const refusal = await post(`${app.url}/refusal${chat}`, ask('Hello?'));
    expect([refusal.status, refusal.headers.get('x-tea')]).toEqual([418, 'oolong']);
    expect(await refusal.json()).toEqual({ error: { type: 'teapot_error', message: 'Short and stout.' } });
    expect(outcomes).toMatchObject([
      { status: 502, error_type: 'server_error', end_reason: 'internal_error' },
      { status: 418, error_type: 'teapot_error', end_reason: 'refused' },
    ]);
  });
});
