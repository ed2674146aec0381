import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import express5 from 'express';
import express4 from 'express4';
import { defaultModels } from '../../src/config/example-models.ts';
import { auth, createChain, errorEnvelope, type Gateway, validation } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { capturedLog } from '../support/captured-log.ts';
import { alongside } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { send } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(closeMounted);
afterAll(() => simulator.close());

/** Both have what is used here; their types differ. */
const versions: readonly [string, typeof express5][] = [
  ['Express 5', express5],
  ['Express 4', express4 as unknown as typeof express5],
];

const listening = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  alongside({ close: () => server.close().closeAllConnections() });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** The gateway behind `parser` and at `path` of an application whose own error handler answers 418. */
async function behind(
  express: typeof express5,
  parser: express5.RequestHandler,
  handlers: Pick<Gateway, 'errorHandler'> & RequestListener,
  path = '/',
): Promise<string> {
  const app = express();
  app.use(parser);
  app.use(path, handlers as never, handlers.errorHandler as never);
  app.use(((error, _request, response, _next) => {
    response.status(418).send(`the application's: ${error.message}`);
  }) satisfies express5.ErrorRequestHandler);
  return listening(app as unknown as RequestListener);
}

interface Bad {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

async function reply(base: string, { headers, body }: Bad, path = '/v1/chat/completions') {
  const sent = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json', ...headers };
  const got = await fetch(base + path, { method: 'POST', headers: sent, body });
  const { date: _, 'x-request-id': id, 'x-powered-by': __, ...rest } = Object.fromEntries(got.headers);
  expect(id).toMatch(/^req_/);
  return { status: got.status, headers: rest, body: await got.json() };
}

const faults: [string, Bad][] = [
  ['broken JSON', { body: '{"model": "x", "messages": [}' }],
  ['JSON that is cut', { body: '{"model": "x"' }],
  ['a text instead of an object', { body: '"Hello?"' }],
  [
    'a charset that is not UTF-8',
    { headers: { 'content-type': 'application/json; charset=x-no' }, body: '{}' },
  ],
  ['an unknown content encoding', { headers: { 'content-encoding': 'compress' }, body: '{}' }],
  ['a body that is not gzip', { headers: { 'content-encoding': 'gzip' }, body: 'no gzip' }],
  [
    'gzip that is cut',
    { headers: { 'content-encoding': 'gzip' }, body: gzipSync('{"a":1}').subarray(0, -9) },
  ],
  ['a body that is not Brotli', { headers: { 'content-encoding': 'br' }, body: 'no Brotli' }],
  ['broken JSON without a key', { headers: { authorization: '' }, body: '{' }],
  ['broken JSON with an unknown key', { headers: { authorization: 'Bearer unknown' }, body: '{' }],
];

describe.each(versions)('the error handler of a gateway in %s', (_, express) => {
  // Express 4's parser does not know Brotli.
  const known = faults.filter(
    ([, { headers }]) => express === express5 || headers?.['content-encoding'] !== 'br',
  );
  it('answers what cannot be read as the gateway alone does', async () => {
    const gateway = await mountable(simulator);
    const alone = await listening((request, response) => gateway(request, response));
    const parsed = await behind(express, express.json(), gateway);
    const mounted = await behind(express, express.json(), gateway, '/llm');
    for (const [name, bad] of known) {
      const expected = { name, ...(await reply(alone, bad)) };
      expect(expected.status).toBeLessThan(402);
      expect({ name, ...(await reply(parsed, bad)) }).toEqual(expected);
      expect({ name, ...(await reply(mounted, bad, '/llm/v1/chat/completions')) }).toEqual(expected);
    }
  });

  it("names the application's own limit in the refusal of a body above it", async () => {
    const base = await behind(express, express.json({ limit: 500 }), await mountable(simulator));
    const large = await reply(base, { body: JSON.stringify(ask('x'.repeat(600))) });
    expect(large).toMatchObject({
      status: 413,
      headers: { connection: 'close' },
      body: { error: { message: 'The request body is larger than the 500 bytes accepted.' } },
    });
  });

  it('refuses compressed bodies that the parser does not inflate', async () => {
    const base = await behind(express, express.json({ inflate: false }), await mountable(simulator));
    const headers = { 'content-encoding': 'gzip' };
    const refused = await reply(base, { headers, body: gzipSync(JSON.stringify(ask('Hello?'))) });
    const message = "Content-Encoding: must be identity here, not 'gzip'.";
    expect(refused).toMatchObject({ status: 400, body: { error: { message } } });
  });

  it('leaves errors that are no body parser’s, and other paths, to the application', async () => {
    const verify = () => {
      throw new Error('the signature is wrong');
    };
    const body = '{';
    const json = { 'content-type': 'application/json' };
    const gateway = await mountable(simulator);
    const verifying = await behind(express, express.json({ verify }), gateway);
    const refused = await fetch(`${verifying}/v1/chat/completions`, { method: 'POST', headers: json, body });
    expect([refused.status, await refused.text()]).toEqual([
      418,
      "the application's: the signature is wrong",
    ]);
    const parsing = await behind(express, express.json(), gateway);
    const other = await fetch(`${parsing}/v1/other`, { method: 'POST', headers: json, body });
    expect([other.status, await other.text()]).toEqual([
      418,
      expect.stringMatching(/^the application's: .*JSON/),
    ]);
  });
});

describe('the error handler of a gateway', () => {
  it('answers a path that needs no body, whatever the body is', async () => {
    const base = await behind(express5, express5.json(), await mountable(simulator));
    const headers = { 'content-type': 'application/json' };
    const models = await send(`${base}/v1/models`, { headers, body: '{' });
    expect(models.status).toBe(200);
  });

  it('counts and logs what it answers as any other refused exchange', async () => {
    const { log, lines } = capturedLog();
    const gateway = await mountable(simulator, {}, { log });
    const base = await behind(express5, express5.json(), gateway);
    await reply(base, { body: '{' });
    await until(() => gateway.inFlight === 0 && lines.length > 0);
    expect(lines.at(-1)).toMatchObject({ end_reason: 'refused', status: 400, account: 'tester' });
    expect(await gateway.registry.metrics()).toMatch(/sluice_requests_total\{[^}]*status="400"[^}]*\} 1\n/);
  });

  it('settles an upload that is cut as one whose client has left', async () => {
    const { log, lines } = capturedLog();
    const gateway = await mountable(simulator, {}, { log });
    const left = new AbortController();
    const parser = express5.json();
    const base = await behind(
      express5,
      (request, response, next) => {
        // The parser listens by then.
        setImmediate(() => left.abort());
        parser(request, response, next);
      },
      gateway,
    );
    const body = new ReadableStream({
      start: controller => controller.enqueue(Buffer.from('{"model":')),
    });
    const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };
    const sent = fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
      signal: left.signal,
    } as RequestInit);
    await expect(sent).rejects.toThrow();
    await until(() => lines.some(({ end_reason }) => end_reason === 'client_gone'));
    expect(gateway.inFlight).toBe(0);
  });

  it('passes the error on when a reply has begun', async () => {
    const { errorHandler } = await mountable(simulator);
    const error = Object.assign(new SyntaxError('no JSON'), { type: 'entity.parse.failed', body: '{' });
    const passed: unknown[] = [];
    const base = await listening((request, response) => {
      response.flushHeaders();
      errorHandler(error, request, response, thrown => void passed.push(thrown));
      response.end('begun');
    });
    expect(await (await fetch(`${base}/v1/chat/completions`)).text()).toBe('begun');
    expect(passed).toEqual([error]);
  });
});

it('answers the errors of a body parser in front of a chain as the chain does', async () => {
  const accounts = { tester: { keys: [{ value: clientKey }] } };
  const newChain = () =>
    createChain([errorEnvelope(), auth(), validation()], { accounts, log: capturedLog('silent').log });
  const proxy: express5.RequestHandler = (_request, response) => void response.send('proxied');
  for (const path of ['/v1/chat/completions', '/llm/v1/chat/completions']) {
    const mount = path.slice(0, -'/v1/chat/completions'.length) || '/';
    const chain = newChain();
    const alone = await listening(express5().use(mount, chain, proxy));
    const app = express5().use(express5.json()).use(mount, chain, proxy, chain.errorHandler);
    const parsed = await listening(app);
    for (const [, bad] of faults)
      expect(await reply(parsed, bad, path)).toEqual(await reply(alone, bad, path));
  }
});

it('answers for its catalog and refuses unknown paths behind a body parser, whatever it could not read', async () => {
  const models = defaultModels('handler').map(({ upstreams: _, ...model }) => model);
  const chain = createChain([errorEnvelope()], { models, terminal: true, log: capturedLog('silent').log });
  const base = await listening(express5().use(express5.json()).use(chain, chain.errorHandler));
  const broken = { headers: { 'content-type': 'application/json' }, body: '{{{' };
  const statuses = [
    await send(`${base}/v1/models/aion-labs%2Faion-3.5`, broken),
    await send(`${base}/v1/embeddings`, { ...broken, method: 'POST' }),
    await send(`${base}/v1/models`, { ...broken, method: 'POST' }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 404, 405]);
});
