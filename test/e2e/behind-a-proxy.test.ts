import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serverSchema } from '../../src/config/schema.ts';
import { freePort } from '../support/free-port.ts';
import { type FrontProxy, startCaddy, startNginx } from '../support/front-proxy.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import {
  chunk,
  events,
  lastChunk,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const word = (content: string, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_795_132_800,
  model: 'any',
  choices: [{ index: 0, delta: { content }, finish_reason }],
});

const answer: Script = whole(200, {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_795_132_800,
  model: 'any',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startScriptedUpstream(answer);
});

afterAll(() => upstream.close());

/** A gateway at an address of its own, as on a machine of its own: the ports are those of the other one. Is unready for longer than Caddy's interval. */
const gatewayAt = (host: string, port: number, adminPort: number): Promise<GatewayUnderTest> =>
  startGateway({
    upstream,
    server: { host, port, keepalive_ms: 50, reuse_port: true, unready_ms: 1300 },
    config: { admin: { host, port: adminPort } },
  });

/** Servers that say they are ready, and break the connection of every other request. */
async function breakingGateways(hosts: readonly string[], port: number, adminPort: number) {
  let requests = 0;
  const servers = hosts.flatMap(host => [
    createServer(({ socket }) => {
      requests++;
      socket.destroy();
    }).listen(port, host),
    createServer((_, response) => void response.end('ready')).listen(adminPort, host),
  ]);
  await Promise.all(servers.map(server => once(server, 'listening')));
  return {
    requests: () => requests,
    close: () => Promise.all(servers.map(server => server.close()).map(server => once(server, 'close'))),
  };
}

describe.each([
  ['nginx', startNginx],
  ['Caddy', startCaddy],
] as const)('gateways behind %s, as examples/ sets it up', (_, startProxy) => {
  const hosts = ['127.0.0.1', '127.0.0.2'] as const;
  const gateways: GatewayUnderTest[] = [];
  let port: number;
  let adminPort: number;
  let proxy: FrontProxy;

  beforeAll(async () => {
    [port, adminPort] = [await freePort(), await freePort()];
    for (const host of hosts) gateways.push(await gatewayAt(host, port, adminPort));
    proxy = await startProxy({ addresses: [`${hosts[0]}:${port}`, `${hosts[1]}:${port}`], adminPort });
  });

  afterAll(async () => {
    await proxy?.stop();
    await Promise.all(gateways.map(gateway => gateway.close()));
  });

  const post = (
    body: object | string,
    { key = clientKey, signal }: { key?: string; signal?: AbortSignal } = {},
  ) =>
    fetch(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: signal ?? null,
    });

  it('hands on every event and comment of a stream at once', async () => {
    const release = Promise.withResolvers<void>();
    upstream.replyOnce(async socket => {
      socket.write(streamHead());
      socket.write(chunk(events(word('They '))));
      await release.promise;
      socket.write(chunk(events(word('wander.', 'stop'), '[DONE]')) + lastChunk);
    });
    const { body } = await post(ask('Why do rivers bend?', { stream: true }));
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (part: string) => {
      while (!text.includes(part)) text += (await reader.read()).value ?? '';
    };
    await readUntil('They ');
    await readUntil(': keep-alive\n\n');
    expect(text).not.toContain('wander.');
    release.resolve();
    await readUntil('data: [DONE]');
  });

  it('lets the gateway know that a client has left', async () => {
    const leaving = new AbortController();
    upstream.replyOnce(socket => socket.write(streamHead() + chunk(events(word('They ')))));
    const { body } = await post(ask('Why?', { stream: true }), { signal: leaving.signal });
    await body!.getReader().read();
    const { last } = upstream;
    leaving.abort();
    expect(await last.closed).toBe('gateway');
  });

  it('lets bodies of max_body_bytes through, and leaves larger ones to the gateway', async () => {
    const { max_body_bytes } = serverSchema.parse({});
    const largest = await post(JSON.stringify(ask('?')).padEnd(max_body_bytes));
    expect(largest.status).toBe(200);
    const larger = await post(JSON.stringify(ask('?')).padEnd(max_body_bytes + 1));
    expect(larger.status).toBe(413);
    expect(await larger.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  it("leaves the gateway's errors as they are", async () => {
    const refused = await post(ask('?'), { key: 'sk-unknown' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('x-request-id')).toMatch(/^req_/);
    expect(await refused.json()).toMatchObject({ error: { type: 'authentication_error' } });
    upstream.replyOnce(whole(500, { error: { message: 'broken' } }));
    const failed = await post(ask('?'));
    expect(failed.status).toBe(502);
    expect(await failed.json()).toMatchObject({ error: { type: 'provider_error' } });
  });

  it('loses no request while one of the gateways stops', async () => {
    const statuses: number[] = [];
    let hasStopped = false;
    const stopped = gateways[0]!.close().then(() => (hasStopped = true));
    while (!hasStopped) statuses.push((await post(ask('?'))).status);
    await stopped;
    statuses.push((await post(ask('?'))).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('answers in the format of the gateway when there is none, and sends no request twice', async () => {
    await gateways[1]!.close();
    const expectUnavailable = async () => {
      const reply = await post(ask('?'));
      expect(reply.status).toBe(502);
      expect(reply.headers.get('content-type')).toBe('application/json');
      expect(await reply.json()).toMatchObject({ error: { type: 'server_error' } });
    };
    await expectUnavailable();
    const breaking = await breakingGateways(hosts, port, adminPort);
    // The proxy may have to notice first that something listens there again.
    await until(async () => {
      await expectUnavailable();
      return breaking.requests() > 0;
    });
    expect(breaking.requests()).toBe(1);
    await breaking.close();
  });
});

describe('examples/nginx', () => {
  it('waits longer for a reply than the gateway does', () => {
    const text = readFileSync(new URL('../../examples/nginx/sluice.conf', import.meta.url), 'utf8');
    const [, wait_s] = /proxy_read_timeout (\d+)s;/.exec(text) ?? [];
    const { non_stream_timeout_ms, keepalive_ms } = serverSchema.parse({});
    expect(Number(wait_s) * 1000).toBeGreaterThan(Math.max(non_stream_timeout_ms, keepalive_ms));
  });
});
