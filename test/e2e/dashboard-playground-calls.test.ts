import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import express, { type Express } from 'express';
import { pino } from 'pino';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { Gateway } from '../../src/index.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { DashboardVisitor, dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { alongside, startApp } from '../support/express-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { finished, said, used } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import {
  chunk,
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

/** The calls that the playground's script makes, of a dashboard at `/ops` of an application that mounts nothing else of the gateway. */

const sockets: Socket[] = [];

interface Setting {
  readonly url: string;
  readonly gateway: Gateway;
  readonly visitor: DashboardVisitor;
  /** What the log says. */
  readonly lines: readonly string[];
  /** Begins a run, and gives the answer when its headers are there. */
  begin(body: object, more?: { key?: string; signal?: AbortSignal }): Promise<Response>;
  /** The same read to its end: each event's name and data. */
  run(body: object, key?: string): Promise<(readonly [string | undefined, Record<string, unknown>])[]>;
}

/** An operator signed in to a dashboard in front of `upstream`. */
async function opened(
  upstream: { readonly url: string },
  sections: Partial<GatewayConfig> = {},
  before: (app: Express) => unknown = () => {},
): Promise<Setting> {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: line => lines.push(line) });
  const gateway = await mountable(upstream, { admin: dashboardAdmin(), ...sections } as object, { log });
  const { url } = await startApp(app => {
    before(app);
    app.use('/ops', gateway.dashboard);
  });
  const visitor = new DashboardVisitor(`${url}/ops/`);
  await visitor.signIn();
  await visitor.get('playground');
  const begin: Setting['begin'] = (body, { key = clientKey, signal } = {}) =>
    fetch(`${url}/ops/playground-run`, {
      method: 'POST',
      body: fieldsOf(visitor.token, body, key),
      headers: { origin: url, cookie: visitor.cookie },
      ...(signal && { signal }),
    });
  const run: Setting['run'] = async (body, key = clientKey) => {
    const response = await begin(body, { key });
    const text = await response.text();
    const type = response.headers.get('content-type');
    expect([response.status, type]).toEqual([200, 'text/event-stream; charset=utf-8']);
    return eventsOf(text).map(({ event, json }) => [event, json] as const);
  };
  return { url, gateway, visitor, lines, begin, run };
}

const fieldsOf = (form_token: string, request: object, key: string) =>
  new URLSearchParams({ form_token, key, request: JSON.stringify(request) });
const streaming = (content: string, more: object = {}) => ask(content, { stream: true, ...more });
const beginning = streamHead() + chunk(events(said('First.'))).toString();
const hello = streamed(events(said('Hello.'), finished(), used(7, 3), '[DONE]'));

let upstream: ScriptedUpstream;
/** In front of a script, and of a simulated server with an account of one request a minute. */
let scripted: Setting;
let simulated: Setting;

beforeAll(async () => {
  upstream = await alongside(await startScriptedUpstream(hello));
  scripted = await opened(upstream, { server: { slow_client_ms: 1500 } } as object, app =>
    app.use(compression({ threshold: 0 }), express.urlencoded({ extended: true, limit: '20mb' })),
  );
  simulated = await opened(await alongside(await startSimulator()), {
    plans: { one: { requests_per_minute: 1 } },
    accounts: {
      tester: { keys: [{ value: clientKey }] },
      limited: { plan: 'one', keys: [{ value: 'sk-limited' }] },
    },
  } as object);
});
beforeEach(() => {
  upstream.reply(hello);
  upstream.requests.length = 0;
});
afterAll(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await closeMounted();
});

describe('a playground run', () => {
  it('is a client request: authenticated, counted, limited, and logged without key and prompt', async () => {
    const { run, lines, gateway } = simulated;
    const asked = streaming('Something confidential', { stream_options: { include_usage: true } });
    const answered = await run(asked, 'sk-limited');
    expect(answered[0]).toEqual(['reply', { status: 200, request_id: expect.stringMatching(/^req_/) }]);
    expect(answered.slice(1, -2).every(([event]) => event === 'chunk')).toBe(true);
    expect(answered.at(-3)![1]).toMatchObject({ usage: { total_tokens: expect.any(Number) } });
    expect(answered.at(-2)).toEqual(['cost', { cost_usd: expect.stringMatching(/^0\.\d+$/) }]);
    expect(answered.at(-1)).toEqual(['done', {}]);
    const refused = {
      status: 429,
      request_id: expect.any(String),
      retry_after_s: expect.any(String),
      body: expect.stringContaining('"type":"rate_limit_error"'),
    };
    expect(await run(streaming('Once more'), 'sk-limited')).toEqual([['reply', refused]]);
    const log = lines.join('');
    expect(log).toContain(`"operator":"${operator.name}","request_id":"${answered[0]![1].request_id}"`);
    for (const secret of ['sk-limited', 'confidential']) expect(log).not.toContain(secret);
    expect(await gateway.registry.metrics()).toContain('sluice_requests_total');
  });

  it.each<[string, unknown, string, number, string]>([
    ['a whole reply', ask('Hello?'), clientKey, 200, '"object":"chat.completion"'],
    ['a key of nobody', streaming('Hello?'), 'sk-of-nobody', 401, 'Invalid API key.'],
    ['no key', streaming('Hello?'), '', 401, 'Missing API key'],
    ['a string', 'no object at all', clientKey, 400, '"type":"invalid_request_error"'],
    ['a list', [], clientKey, 400, '"type":"invalid_request_error"'],
    ['no known model', ask('Hello?', { model: 'no/such' }), clientKey, 400, '"type":"invalid_request_error"'],
  ])('returns what the gateway says at once: %s', async (_, body, key, status, said) => {
    const [[event, reply], ...more] = (await simulated.run(body as object, key)) as [
      [string, { body: string }],
    ];
    expect([event, reply, more]).toEqual(['reply', expect.objectContaining({ status }), []]);
    // As the client reads it: what it quotes is escaped in the event.
    expect(reply.body).toContain(said);
  });

  it.each([
    ['with spaces', 'sk with spaces'],
    ['of two lines', 'sk-with\r\nx-injected: yes'],
    ['of other letters', 'sk-ключ'],
    ['without end', 'x'.repeat(600)],
  ])('rejects a key %s', async (_, key) => {
    const response = await scripted.begin(streaming('Hello?'), { key });
    expect([response.status, await response.text(), upstream.requests]).toEqual([
      422,
      expect.stringContaining('This is not an API key.'),
      [],
    ]);
  });

  it('streams chunk by chunk through compression and behind a form parser', async () => {
    upstream.reply(beginning);
    const left = new AbortController();
    const response = await scripted.begin(streaming('Hello?'), { signal: left.signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('First.')) text += (await reader.read()).value;
    left.abort();
    await reader.cancel().catch(() => {});
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('forwards a long prompt unchanged and rejects an oversized form', async () => {
    const plain = await opened(upstream);
    const prompt = 'A long story, π. '.repeat(40_000);
    expect((await plain.run(streaming(prompt))).at(-1)![0]).toBe('done');
    expect(upstream.last.body.messages).toEqual([{ role: 'user', content: prompt }]);
    const tooLarge = await plain.begin(streaming('x'.repeat(9_000_000))).then(
      ({ status }) => status,
      // Who is still sending may not read why the connection ended.
      () => 413,
    );
    expect([tooLarge, upstream.requests.length]).toEqual([413, 1]);
    expect((await plain.run(streaming('Hello?'))).at(-1)![0]).toBe('done');
  });
});

describe('concurrent playground runs', () => {
  it('are limited to 8 of one person, and each releases its permit', async () => {
    upstream.reply(beginning);
    const { begin, run, gateway } = scripted;
    const left = new AbortController();
    const running = await Promise.all(
      Array.from({ length: 8 }, () => begin(streaming('Hello?'), { signal: left.signal })),
    );
    expect(running.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const refused = await begin(streaming('One more'));
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining('8 answers are being streamed to you already.'),
    ]);
    left.abort();
    await until(() => gateway.inFlight === 0);
    const ends = await Promise.all(upstream.requests.map(({ closed }) => closed));
    expect(ends).toEqual(Array(8).fill('gateway'));
    upstream.reply(hello);
    for (let turn = 0; turn < 9; turn++) expect((await run(streaming('Hello?'))).at(-1)![0]).toBe('done');
  });

  it('apply backpressure and end as slow clients when their pages read nothing', async () => {
    let written_bytes = 0;
    const part = chunk(events(said('x'.repeat(20_000))));
    upstream.reply(async socket => {
      socket.write(streamHead());
      const gone = new Promise(resolve => socket.once('close', resolve));
      while (!socket.destroyed) {
        written_bytes += part.length;
        if (!socket.write(part))
          await Promise.race([gone, new Promise(resolve => socket.once('drain', resolve))]);
      }
    });
    const { url, visitor, gateway } = scripted;
    const body = fieldsOf(visitor.token, streaming('endless'), clientKey).toString();
    const { host, port } = new URL(url);
    const socket = connect({ host: '127.0.0.1', port: Number(port) });
    sockets.push(socket);
    socket.pause().on('error', () => {});
    socket.write(
      `POST /ops/playground-run HTTP/1.1\r\nhost: ${host}\r\norigin: ${url}\r\ncookie: ${visitor.cookie}\r\n` +
        `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => upstream.requests.length === 1);
    expect(await upstream.last.closed).toBe('gateway');
    await until(() => gateway.inFlight === 0);
    // The kernel's buffers on the way, and little of our own.
    expect(written_bytes).toBeLessThan(40_000_000);
    expect(await gateway.registry.metrics()).toMatch(
      /sluice_requests_total\{[^}]*end_reason="slow_client"[^}]*\} 1/,
    );
    expect((await visitor.get('playground-record?id=none')).text).toBe('null');
  });
});

describe('the playground page', () => {
  it('links to key creation when no key exists', async () => {
    const { visitor } = await opened(upstream, { accounts: {} });
    const hint = 'No key has been issued yet';
    expect((await visitor.get('playground')).text).toContain(hint);
    await visitor.post('accounts', { id: 'acme' });
    await visitor.get('keys?account=acme');
    const { location } = await visitor.post('keys?account=acme', { name: 'for trying', expires: 'day' });
    expect((await visitor.get(location!)).text).toContain('href="playground"');
    expect((await visitor.get('playground')).text).not.toContain(hint);
  });

  it('asks for no key when the gateway is open', async () => {
    const { visitor, run } = await opened(upstream, {
      server: { port: 0, open: true },
      stages: ['error-envelope', 'validation'],
    } as object);
    const { text } = await visitor.get('playground');
    expect(text).not.toContain('name="key"');
    expect((await run(streaming('Hello?'), '')).at(-1)![0]).toBe('done');
  });
});

describe('a gateway that shuts down', () => {
  it('ends running playground requests and refuses new ones', async () => {
    const { begin, gateway, run } = simulated;
    const response = await begin(streaming('[[sim:tokens=endless tps=50]]'));
    const closed = gateway.close(300);
    const refused = (await run(streaming('Hello?')))[0]![1];
    expect(refused).toMatchObject({ status: 502, body: expect.stringContaining('"type":"server_error"') });
    const told = eventsOf(await response.text());
    expect(told.slice(-2).map(({ event, json }) => [event, json])).toEqual([
      ['fault', { error: expect.objectContaining({ type: 'server_error' }) }],
      ['done', {}],
    ]);
    await closed;
  });
});
