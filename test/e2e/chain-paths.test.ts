import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import {
  auth,
  type ChainOptions,
  createChain,
  errorEnvelope,
  modelAccess,
  rateLimit,
  reasoningSplit,
  redact,
  requestRewrite,
  responseCache,
  streamRechunk,
  validation,
} from '../../src/index.ts';
import { defineStage } from '../../src/plugin.ts';
import { capturedLog } from '../support/captured-log.ts';
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
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';

const accounts = { tester: { keys: [{ value: clientKey }] } };
const echoOf = (text: string): Echo => JSON.parse(text);

const credentials = { authorization: `Bearer ${clientKey}` };
const keys = [{ value: clientKey }];
let upstream: Awaited<ReturnType<typeof startEcho>>;

beforeAll(async () => {
  upstream = alongside(await startEcho());
});

afterAll(closeApps);

type Stages = Parameters<typeof createChain>[0];

const appOf = (stages?: Stages, options?: ChainOptions, mount = '/') =>
  startApp(app => app.use(mount, chainOf(stages, options), proxyTo(upstream)));

/** Status of a request with the key, or 0 if it has reached the handler. */
async function statusOf(url: string, method = 'POST', headers: Record<string, string> = {}) {
  const body = method === 'POST' ? { body: '{"model":"a","messages":[{"role":"user","content":"b"}]}' } : {};
  const reply = await send(url, { method, ...body, headers: { ...credentials, ...headers } });
  return reply.headers['x-upstream'] === 'echo' ? 0 : reply.status;
}

const own = (hooks: object) =>
  defineStage({ name: 'own-guard', create: () => hooks })() as unknown as Stages[number];

const tokens = { plans: { free: { tokens_per_day: 1000 } }, accounts: { tester: { plan: 'free', keys } } };
const money = { ...tokens, plans: { free: { usd_per_month: 5 } } };
const ofModel = {
  ...tokens,
  plans: { free: { models: { 'aion-labs/aion-3.5': { requests_per_minute: 5 } } } },
};
const requests = { ...tokens, plans: { free: { requests_per_minute: 100, concurrent_requests: 50 } } };

describe('a chain whose stages must read what is generated', () => {
  it.each<[string, Stages, ChainOptions]>([
    ['validation', [auth(), validation()], {}],
    ['redact', [auth(), redact()], {}],
    ['redact of replies', [auth(), redact({ where: 'replies' })], {}],
    ['model-access', [auth(), modelAccess({ others: ['*'] })], {}],
    ['response-cache', [auth(), responseCache()], {}],
    ['a limit on tokens', [auth(), rateLimit()], tokens],
    ['a limit on money', [auth(), rateLimit()], money],
    ['a limit on a model', [auth(), rateLimit()], ofModel],
    [
      'an account that the application limits',
      [auth(), rateLimit()],
      {
        plans: {},
        accountOf: () => ({ id: 'a', limits: { tokens_per_day: 5 } }),
      },
    ],
    ['a stage of its own', [auth(), own({ onRequest() {} })], {}],
    ['a stage of its own that must read', [auth(), own({ onHeaders() {}, mustRead: true })], {}],
  ])('refuses a request in another format, with %s', async (_, stages, options) => {
    const app = await appOf([errorEnvelope(), ...stages], options);
    const reply = await send(`${app.url}/v1/completions?a=b`, {
      method: 'POST',
      body: '{"model":"a","prompt":"b"}',
      headers: credentials,
    });
    expect([reply.status, JSON.parse(reply.text).error]).toEqual([
      404,
      { message: 'Unknown request URL: POST /v1/completions.', type: 'invalid_request_error' },
    ]);
  });

  it('refuses every POST wherever it is mounted', async () => {
    const app = await startApp(app => {
      app.use('/api', chainOf(), proxyTo(upstream));
      app.use(chainOf(), proxyTo(upstream));
    });
    const paths = [
      ...['/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/audio/speech', '/v1/images/generations'],
      ...['/v1/completions', '/v1/completions/', '//v1/completions', '/v1//completions'],
      ...['/V1/Chat/Completions', '/v1/chat%2Fcompletions', '/v1/%63hat/completions'],
      ...['/v1/chat/completions/more', '/v1/chat/completions//', '/other/v1/chat/completions'],
      ...['/v1beta/models/x:generateContent', '/openai/deployments/x/chat/completions', '/api/chat'],
      ...['/completion', '/generate', '/invocations', '/made-up-tomorrow'],
    ];
    for (const path of paths.flatMap(path => [path, `/api${path}`]))
      expect([path, await statusOf(app.url + path)]).toEqual([path, 404]);
  });

  it.each<[string, string, string]>([
    ['PUT', '/v1/completions', ''],
    ['PATCH', '/v1/chat/completions', ''],
    ['QUERY', '/v1/completions', ''],
    ['GET', '/v1/completions', 'content-length: 2\r\n'],
    ['DELETE', '/v1/completions', 'transfer-encoding: chunked\r\n'],
    ['GET', '/v1/responses', 'connection: upgrade\r\nupgrade: WebSocket\r\n'],
    ['GET', '/v1/responses/resp_1', ''],
    ['GET', '/v1/chat%2Fcompletions/chatcmpl_1/messages', ''],
  ])('refuses %s %s with the headers %j', async (method, path, headers) => {
    const app = await appOf();
    const connection = new RawConnection(app.url);
    const key = `authorization: ${credentials.authorization}\r\n`;
    connection.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\n${key}${headers}\r\n`);
    await connection.received(/\r\n\r\n/);
    expect(connection.text.slice(0, 13)).toBe('HTTP/1.1 404 ');
    connection.destroy();
  });

  it('refuses a body that HTTP/2 does not announce', async () => {
    const chain = chainOf([auth(), redact()]);
    const server = createServer((request, response) => {
      const [incoming, outgoing] = [
        request as unknown as IncomingMessage,
        response as unknown as ServerResponse,
      ];
      chain(incoming, outgoing, () => response.end('through'));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const statusOf = async (body?: string) => {
      const stream = client.request(
        { ':path': '/completion', ':method': 'GET', ...credentials },
        { endStream: body === undefined },
      );
      stream.end(body);
      const [{ ':status': status }] = await once(stream, 'response');
      return status;
    };
    try {
      expect([await statusOf('{"prompt":"a"}'), await statusOf()]).toEqual([404, 200]);
    } finally {
      client.destroy();
      server.close();
    }
  });

  it('asks for a key first, and leaves the routes of the application as they are', async () => {
    const app = await appOf();
    const url = `${app.url}/v1/completions`;
    expect((await send(url, { method: 'POST', body: '{}' })).status).toBe(401);
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/health'],
      ['GET', '/responses/5'],
      ['GET', '/v1/files'],
      ['GET', '/v1/chat/completions'],
      ['HEAD', '/health'],
      ['OPTIONS', '/v1/completions'],
      ['DELETE', '/v1/files/1'],
    ] as const)
      expect([method, path, await statusOf(app.url + path, method)]).toEqual([method, path, 0]);
    expect(await statusOf(`${app.url}/health`, 'GET', { connection: 'upgrade', upgrade: 'h2c' })).toBe(0);
  });

  it('still answers what it reads, also in other formats', async () => {
    const app = await appOf(allStages(), { responses: { from_chat: true } });
    const body = JSON.stringify(ask('Hi'));
    const input = JSON.stringify({ model: 'aion-labs/aion-3.5', input: 'Hi' });
    // The echo is no chat completion, but it has been asked.
    for (const [path, sent] of [
      ['/v1/chat/completions/', body],
      ['/v1/responses', input],
    ] as const)
      expect((await send(app.url + path, { method: 'POST', body: sent, headers: credentials })).status).toBe(
        502,
      );
    expect((await send(`${app.url}/v1/models`)).status).toBe(200);
  });

  it('names each refused path once in the log', async () => {
    const { log, lines } = capturedLog('warn');
    const app = await appOf(allStages(), { log });
    for (const path of ['/v1/completions', '/v1/completions', '/generate']) await statusOf(app.url + path);
    const named = lines.filter(({ msg }) => msg.startsWith('refused a path'));
    expect(named).toMatchObject([
      { method: 'POST', path: '/v1/completions', stages: ['validation'] },
      { method: 'POST', path: '/generate', stages: ['validation'] },
    ]);
  });

  it("opens other paths with otherPaths: 'pass', and says at creation which stages are passed by", async () => {
    const { log, lines } = capturedLog('warn');
    const app = await appOf([auth(), redact(), rateLimit()], { ...tokens, log, otherPaths: 'pass' });
    expect(lines).toMatchObject([
      { msg: expect.stringContaining("otherPaths: 'pass'"), stages: ['redact', 'rate-limit'] },
    ]);
    const reply = await send(`${app.url}/v1/completions`, {
      method: 'POST',
      body: '{ }',
      headers: credentials,
    });
    expect((JSON.parse(reply.text) as Echo).text).toBe('{ }');
    expect(lines).toHaveLength(1);
  });
});

describe('a chain whose stages need no request', () => {
  it.each<[string, Stages, ChainOptions]>([
    ['auth alone', [auth()], {}],
    ['stages that protect nothing', [auth(), requestRewrite(), streamRechunk(), reasoningSplit()], {}],
    ['limits on requests', [auth(), rateLimit()], requests],
    ['limits that refuse nothing', [auth(), rateLimit({ dry_run: true })], tokens],
    ['a stage of its own that says so', [auth(), own({ onRequest() {}, mustRead: false })], {}],
    ['a stage of its own that reads headers', [auth(), own({ onHeaders() {}, onSettled() {} })], {}],
  ])('lets other formats through, with %s', async (_, stages, options) => {
    const { log, lines } = capturedLog('warn');
    const app = await appOf([errorEnvelope(), ...stages], { log, ...options });
    expect(await statusOf(`${app.url}/v1/completions`)).toBe(0);
    expect(lines).toEqual([]);
  });

  it("holds the README's limits on every path together", async () => {
    const app = await startApp(app =>
      app.use(
        createChain([errorEnvelope(), auth(), rateLimit()], {
          accounts: { demo: { plan: 'free', keys } },
          plans: { free: { requests_per_minute: 2, concurrent_requests: 4 } },
        }),
        proxyTo(upstream),
      ),
    );
    const paths = ['/v1/completions', '/v1/responses', '/v1/chat/completions', '/v1/completions'];
    const statuses: number[] = [];
    for (const path of paths) statuses.push(await statusOf(app.url + path));
    expect(statuses).toEqual([0, 0, 429, 429]);
  });
});

describe("other endpoints behind a chain with otherPaths: 'pass'", () => {
  it.each([
    ['GET', '/v1/files', ''],
    ['POST', '/v1/embeddings', '  {"not": "touched" }\n'],
    ['PUT', '/anything/at/all', '{}'],
    ['GET', '/v1/chat/completions', ''],
  ])('pass to the handler: %s %s', async (method, path, text) => {
    const app = await appOf(allStages(), { otherPaths: 'pass' });
    const reply = await send(app.url + path, { method, ...(text && { body: text }), headers: credentials });
    expect([reply.status, reply.headers['x-upstream']]).toEqual([200, 'echo']);
    expect(echoOf(reply.text)).toMatchObject({ method, path, text });
  });

  it('pass request and response bodies through unchanged', async () => {
    const digests: string[] = [];
    const sent = randomBytes(3_000_000);
    const app = await startApp(app => {
      app.use(chainOf(allStages(), { otherPaths: 'pass' }), async (request, response) => {
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
});

describe('a chain with models', () => {
  const read = async (url: string, method = 'GET') => {
    const { status, headers, text } = await send(url, { method });
    return { status, allow: headers.allow, upstream: headers['x-upstream'], text };
  };

  it('answers for its catalog itself and without a key, also below a mount path', async () => {
    const app = await startApp(app => {
      app.use('/llm', chainOf(), proxyTo(upstream));
      app.use('/v1', chainOf(), proxyTo(upstream));
    });
    for (const at of ['/v1', '/llm/v1']) {
      const list = await read(`${app.url}${at}/models`);
      expect([list.status, list.upstream, JSON.parse(list.text).data.length]).toEqual([200, undefined, 6]);
      const one = await read(`${app.url}${at}/models/aion-labs%2Faion-3.5`);
      expect([one.status, JSON.parse(one.text).id]).toEqual([200, 'aion-labs/aion-3.5']);
      expect((await read(`${app.url}${at}/models/none`)).status).toBe(404);
      // These go to the handler, for which a key is needed.
      expect((await read(`${app.url}${at}/models`, 'POST')).status).toBe(401);
      expect((await read(`${app.url}${at}/files`)).status).toBe(401);
    }
  });

  it('leaves the catalog to the handler when it has none, and protects what is below it', async () => {
    const app = await startApp(app => app.use(chainOf(allStages(), { models: [] }), proxyTo(upstream)));
    expect((await read(`${app.url}/v1/models`)).upstream).toBe('echo');
    for (const path of ['/v1/models/x', '/v1/models/../chat/completions', '/v1/models/%2e%2e/files']) {
      const connection = new RawConnection(app.url);
      connection.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      await connection.closed;
      expect([path, connection.text.slice(0, 13)]).toEqual([path, 'HTTP/1.1 401 ']);
    }
  });

  it('refuses unknown paths and wrong methods below /v1 before it asks for a key, when it is terminal', async () => {
    const app = await startApp(app => {
      app.use('/llm', chainOf(allStages(), { terminal: true }), proxyTo(upstream));
      app.use(chainOf(allStages(), { terminal: true }), proxyTo(upstream));
    });
    for (const at of ['', '/llm']) {
      const unknown = await read(`${app.url}${at}/v1/embeddings?a=b`, 'POST');
      expect([unknown.status, JSON.parse(unknown.text).error]).toEqual([
        404,
        { message: 'Unknown request URL: POST /v1/embeddings.', type: 'invalid_request_error' },
      ]);
      const wrong = await read(`${app.url}${at}/v1/chat/completions`);
      expect([wrong.status, wrong.allow]).toEqual([405, 'POST']);
      const socket = { connection: 'Upgrade', upgrade: 'websocket' };
      expect((await send(`${app.url}${at}/v1/responses`, { headers: socket })).status).toBe(426);
      const models = await read(`${app.url}${at}/v1/models/x`, 'DELETE');
      expect([models.status, models.allow]).toEqual([405, 'GET, HEAD']);
      expect((await read(`${app.url}${at}/v1/chat/completions`, 'POST')).status).toBe(401);
      expect((await read(`${app.url}${at}/other/v1/embeddings`)).status).toBe(401);
      const through = await send(`${app.url}${at}/v2/files`, { headers: credentials });
      expect([through.status, through.headers['x-upstream']]).toEqual([200, 'echo']);
    }
  });
});

describe('the auth stage alone', () => {
  const protectedApp = () => startApp(app => app.use(auth({ accounts }), proxyTo(upstream)));

  it('rejects requests without a key on every endpoint before reading their body', async () => {
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

  it('leaves only GET /v1/models open to requests without a key', async () => {
    const app = await protectedApp();
    for (const path of ['/v1/models', '/v1/models/']) expect((await send(app.url + path)).status).toBe(200);
    for (const method of ['POST', 'DELETE'])
      expect((await send(`${app.url}/v1/models`, { method })).status).toBe(401);
    for (const path of ['/v1/models/secret', '/secret/v1/models', '//v1/models', '/secret?/v1/models'])
      expect([path, (await send(app.url + path)).status]).toEqual([path, 401]);
  });

  it('recognizes its endpoints relative to its mount path', async () => {
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
});

describe('the endpoints of other formats, with other paths open', () => {
  it.each([
    [
      'responses',
      '{ "model": "nobody/knows", "input": "Hello?",  "previous_response_id": "resp_1" }',
      'responses',
    ],
    ['messages', '{ "model": "nobody/knows", "prompt":  1 }', 'unknown'],
  ])(
    'reach the handler unchanged and require a key without their option: /v1/%s',
    async (name, body, endpoint) => {
      const { outcomes, stage } = settlements();
      const app = await appOf([stage, ...allStages()], { otherPaths: 'pass' });
      const path = `/v1/${name}`;
      expect((await post(app.url + path, body, { authorization: '' })).status).toBe(401);
      const reply = await post(app.url + path, body);
      expect(reply.status).toBe(200);
      expect((await reply.json()) as Echo).toMatchObject({ method: 'POST', path, text: body });
      expect(outcomes).toMatchObject([401, 200].map(status => ({ endpoint, status })));
    },
  );

  it('become chat completions with their option, even when no stage transforms the reply', async () => {
    const seen: object[] = [];
    const model = 'aion-labs/aion-3.5';
    const app = await startApp(app => {
      app.use(express.json());
      const chain = chainOf([auth(), validation()], { responses: { from_chat: true } });
      app.use(chain, ({ originalUrl, url, body }, response) => {
        seen.push({ originalUrl, body });
        const message = { role: 'assistant', content: `at ${url}` };
        response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
      });
    });
    const reply = await post(`${app.url}/v1/responses?version=/responses`, { model, input: 'Hello' });
    const originalUrl = '/v1/chat/completions?version=/responses';
    expect(await reply.json()).toMatchObject({
      object: 'response',
      output: [{ content: [{ text: `at ${originalUrl}` }] }],
    });
    expect(seen).toEqual([{ originalUrl, body: { model, messages: [{ role: 'user', content: 'Hello' }] } }]);
  });

  it('count the tokens of messages without the handler', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app =>
      app.use('/llm', chainOf([stage, ...allStages()], { messages: { from_chat: true } }), proxyTo(upstream)),
    );
    const asked = { model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content: 'Hello there, you' }] };
    const reply = await post(`${app.url}/llm/v1/messages/count_tokens`, asked);
    expect(reply.headers.get('x-upstream')).toBeNull();
    expect(((await reply.json()) as { input_tokens: number }).input_tokens).toBeGreaterThan(5);
    expect(outcomes).toMatchObject([
      { endpoint: 'messages.count-tokens', end_reason: 'completed', usage: { completion_tokens: 0 } },
    ]);
  });
});
