import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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
import { allStages, chainOf, type Echo, proxyTo, startEcho } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';

const credentials = { authorization: `Bearer ${clientKey}` };
const keys = [{ value: clientKey }];
let upstream: Awaited<ReturnType<typeof startEcho>>;

beforeEach(async () => {
  upstream = alongside(await startEcho());
});

afterEach(closeApps);

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

  it.each([
    '/v1/responses',
    '/v1/completions',
    '/v1/completions/',
    '//v1/completions',
    '/v1//completions',
    '/V1/Chat/Completions',
    '/v1/chat%2Fcompletions',
    '/v1/%63hat/completions',
    '/v1/chat/completions/more',
    '/v1/chat/completions//',
    '/other/v1/chat/completions',
    '/v1/messages',
    '/v1/embeddings',
    '/v1/audio/speech',
    '/v1/images/generations',
    '/v1/rerank',
    '/v1beta/models/x:generateContent',
    '/openai/deployments/x/chat/completions',
    '/completion',
    '/generate',
    '/invocations',
    '/api/chat',
    '/made-up-tomorrow',
  ])('refuses POST %s wherever it is mounted', async path => {
    const app = await startApp(app => {
      app.use('/api', chainOf(), proxyTo(upstream));
      app.use(chainOf(), proxyTo(upstream));
    });
    for (const mount of ['', '/api'])
      expect([mount, await statusOf(app.url + mount + path)]).toEqual([mount, 404]);
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
