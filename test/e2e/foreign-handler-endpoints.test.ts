import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auth } from '../../src/index.ts';
import { allStages, chainOf, type Echo, proxyTo, startEcho } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';

const accounts = { tester: { keys: [{ value: clientKey }] } };
const credentials = { authorization: `Bearer ${clientKey}` };
let upstream: Awaited<ReturnType<typeof startEcho>>;

beforeEach(async () => {
  upstream = alongside(await startEcho());
});

afterEach(closeApps);

const echoOf = (text: string): Echo => JSON.parse(text);

describe("other endpoints behind a chain with otherPaths: 'pass'", () => {
  it.each([
    ['GET', '/v1/files'],
    ['POST', '/v1/embeddings'],
    ['POST', '/v1/models'],
    ['PUT', '/anything/at/all'],
    ['GET', '/v1/chat/completions'],
  ])('pass to the handler: %s %s', async (method, path) => {
    const app = await startApp(app =>
      app.use(chainOf(allStages(), { otherPaths: 'pass' }), proxyTo(upstream)),
    );
    const body = method === 'GET' ? {} : { body: '  {"not": "touched" }\n' };
    const reply = await send(app.url + path, { method, ...body, headers: credentials });
    expect(reply.status).toBe(200);
    expect(reply.headers['x-upstream']).toBe('echo');
    expect(echoOf(reply.text)).toMatchObject({ method, path, text: body.body ?? '' });
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

  it('keep the error responses of the handler', async () => {
    const app = await startApp(app => {
      app.use(chainOf(), (_request, response) => void response.status(404).send('<p>nothing here</p>'));
    });
    const reply = await send(`${app.url}/v1/files/1`, { headers: credentials });
    expect([reply.status, reply.text]).toEqual([404, '<p>nothing here</p>']);
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

  it('passes the body to the handler unchanged, JSON or not', async () => {
    const app = await protectedApp();
    const text = '{"input": [ "a",  "b" ], "broken": ';
    for (const path of ['/v1/embeddings', '/v1/chat/completions']) {
      const reply = await send(app.url + path, { method: 'POST', headers: credentials, body: text });
      expect(echoOf(reply.text)).toMatchObject({ path, text });
    }
  });

  it('leaves only GET /v1/models open to requests without a key', async () => {
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

  it('protects a plain Node handler', async () => {
    const guard = auth({ accounts });
    const app = await startApp(app =>
      app.use((request, response) => guard(request, response, () => response.end('through'))),
    );
    expect((await send(`${app.url}/x`)).status).toBe(401);
    expect((await send(`${app.url}/x`, { headers: credentials })).text).toBe('through');
  });
});
