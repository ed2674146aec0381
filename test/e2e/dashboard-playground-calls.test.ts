import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import express, { type Express } from 'express';
import { pino } from 'pino';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { Gateway } from '../../src/index.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { signIn, startBrowser, watchedPage } from '../support/browser.ts';
import { DashboardVisitor, dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { alongside, startApp } from '../support/express-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { finished, said, used } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import {
  chunk,
  events,
  type Script,
  startScriptedUpstream,
  streamed,
  streamHead,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await closeMounted();
});

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

/** Somebody signed in to a dashboard at `/ops`; of the gateway nothing else is mounted. */
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
      body: fieldsOf(visitor, body, key),
      headers: { origin: url, cookie: cookieOf(visitor) },
      ...(signal && { signal }),
    });
  const run: Setting['run'] = async (body, key = clientKey) => {
    const response = await begin(body, { key });
    const text = await response.text();
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    return eventsOf(text).map(({ event, json }) => [event, json] as const);
  };
  return { url, gateway, visitor, lines, begin, run };
}

const cookieOf = ({ cookies }: DashboardVisitor): string =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
const fieldsOf = ({ token }: DashboardVisitor, request: object, key: string) =>
  new URLSearchParams({ form_token: token, key, request: JSON.stringify(request) });

const streaming = (content: string, more: object = {}) => ask(content, { stream: true, ...more });
const simulated = async () => alongside(await startSimulator());
const scripted = async (script: Script) => alongside(await startScriptedUpstream(script));
const beginning = streamHead() + chunk(events(said('First.'))).toString();
const hello = streamed(events(said('Hello.'), finished(), used(7, 3), '[DONE]'));

describe('a playground run', () => {
  it('is a client request: authenticated, counted, limited, and logged without key and prompt', async () => {
    const { run, lines, gateway } = await opened(await simulated(), {
      plans: { one: { requests_per_minute: 1 } },
      accounts: { tester: { plan: 'one', keys: [{ value: clientKey }] } },
    } as object);
    const answered = await run(
      streaming('Something confidential', { stream_options: { include_usage: true } }),
    );
    expect(answered[0]).toEqual(['reply', { status: 200, request_id: expect.stringMatching(/^req_/) }]);
    expect(answered.slice(1, -2).every(([event]) => event === 'chunk')).toBe(true);
    expect(answered.at(-3)![1]).toMatchObject({ usage: { total_tokens: expect.any(Number) } });
    expect(answered.at(-2)).toEqual(['cost', { cost_usd: expect.stringMatching(/^0\.\d+$/) }]);
    expect(answered.at(-1)).toEqual(['done', {}]);
    const refused = await run(streaming('Once more'));
    expect(refused).toEqual([
      [
        'reply',
        {
          status: 429,
          request_id: expect.any(String),
          retry_after_s: expect.any(String),
          body: expect.stringContaining('"type":"rate_limit_error"'),
        },
      ],
    ]);
    const log = lines.join('');
    expect(log).toContain(
      `"operator":"${operator.name}","request_id":"${(answered[0]![1] as { request_id: string }).request_id}"`,
    );
    expect(log).not.toContain(clientKey);
    expect(log).not.toContain('confidential');
    expect(await gateway.registry.metrics()).toContain('sluice_requests_total');
  });

  it.each([
    ['sk-of-nobody', 401, 'Invalid API key.'],
    ['', 401, /^Missing API key/],
  ])('is rejected by the gateway with the key %j', async (key, status, message) => {
    const upstream = await scripted(hello);
    const { run } = await opened(upstream);
    const [[event, reply]] = (await run(streaming('Hello?'), key)) as [[string, { body: string }]];
    expect([event, reply]).toEqual(['reply', expect.objectContaining({ status })]);
    expect(JSON.parse(reply.body).error.message).toMatch(message);
    expect(upstream.requests).toEqual([]);
  });

  it.each([
    ['with spaces', 'sk with spaces'],
    ['of two lines', 'sk-with\r\nx-injected: yes'],
    ['of other letters', 'sk-ключ'],
    ['without end', 'x'.repeat(600)],
  ])('rejects a key %s', async (_, key) => {
    const upstream = await scripted(hello);
    const { begin } = await opened(upstream);
    const response = await begin(streaming('Hello?'), { key });
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringContaining('This is not an API key.'),
    ]);
    expect(upstream.requests).toEqual([]);
  });

  it('is refused without a session, without a form token, and from another origin', async () => {
    const upstream = await scripted(hello);
    const { url, visitor } = await opened(upstream);
    const post = (headers: Record<string, string>, token = visitor.token) =>
      fetch(`${url}/ops/playground-run`, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({
          form_token: token,
          key: clientKey,
          request: JSON.stringify(streaming('Hello?')),
        }),
        headers,
      });
    const cookie = cookieOf(visitor);
    expect((await post({ origin: url })).status).toBe(401);
    expect(
      (await post({ origin: url, 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' })).status,
    ).toBe(401);
    for (const refused of [
      post({ origin: url, cookie }, ''),
      post({ origin: url, cookie }, 'x'.repeat(43)),
      post({ origin: 'https://elsewhere.example', cookie }),
      post({ cookie }),
      post({ origin: url, cookie, 'sec-fetch-site': 'cross-site' }),
    ])
      expect((await refused).status).toBe(403);
    expect((await visitor.get('playground-run')).status).toBe(405);
    expect((await new DashboardVisitor(`${url}/ops/`).get('playground')).location).toBe(
      'sign-in?next=playground',
    );
    expect((await new DashboardVisitor(`${url}/ops/`).get('playground-record?id=x')).location).toMatch(
      'sign-in',
    );
    expect(upstream.requests).toEqual([]);
  });

  it('forwards a long prompt unchanged and rejects an oversized form', async () => {
    const upstream = await scripted(hello);
    const { run, begin } = await opened(upstream);
    const prompt = 'A long story, π. '.repeat(40_000);
    expect((await run(streaming(prompt))).at(-1)![0]).toBe('done');
    expect(upstream.last.body.messages).toEqual([{ role: 'user', content: prompt }]);
    const tooLarge = await begin(streaming('x'.repeat(9_000_000))).then(
      ({ status }) => status,
      // Who is still sending may not read why the connection ended.
      () => 413,
    );
    expect(tooLarge).toBe(413);
    expect(upstream.requests).toHaveLength(1);
    expect((await run(streaming('Hello?'))).at(-1)![0]).toBe('done');
  });

  it.each([
    ['a string', 'no object at all'],
    ['a list', []],
    ['an unknown model', ask('Hello?', { model: 'no/such' })],
  ])('returns the error of the gateway for %s', async (_, body) => {
    const { run } = await opened(await simulated());
    expect(await run(body as object)).toEqual([
      [
        'reply',
        expect.objectContaining({
          status: 400,
          body: expect.stringContaining('"type":"invalid_request_error"'),
        }),
      ],
    ]);
  });

  it('returns a whole reply when the request asks for one', async () => {
    const { run } = await opened(await simulated());
    const [[event, reply]] = (await run(ask('Hello?'))) as [[string, { body: string }]];
    expect([event, reply]).toEqual(['reply', expect.objectContaining({ status: 200 })]);
    expect(JSON.parse(reply.body)).toMatchObject({ object: 'chat.completion' });
  });

  it('streams chunk by chunk through compression and behind a form parser', async () => {
    const upstream = await scripted(beginning);
    const { begin } = await opened(upstream, {}, app =>
      app.use(compression({ threshold: 0 }), express.urlencoded({ extended: true })),
    );
    const left = new AbortController();
    const response = await begin(streaming('Hello?'), { signal: left.signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('First.')) text += (await reader.read()).value;
    left.abort();
    await reader.cancel().catch(() => {});
    expect(await upstream.last.closed).toBe('gateway');
  });
});

describe('concurrent playground runs', () => {
  it('are limited to 8 of one person, and each releases its permit', async () => {
    const upstream = await scripted(beginning);
    const { begin, run, gateway } = await opened(upstream);
    const left = new AbortController();
    const running = await Promise.all(
      Array.from({ length: 8 }, () => begin(streaming('Hello?'), { signal: left.signal })),
    );
    expect(running.map(({ status }) => status)).toEqual(running.map(() => 200));
    const refused = await begin(streaming('One more'));
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining('8 answers are being streamed to you already.'),
    ]);
    left.abort();
    await until(() => gateway.inFlight === 0);
    expect(await Promise.all(upstream.requests.map(({ closed }) => closed))).toEqual(
      running.map(() => 'gateway'),
    );
    upstream.reply(hello);
    for (let turn = 0; turn < 20; turn++) expect((await run(streaming('Hello?'))).at(-1)![0]).toBe('done');
  });

  it('apply backpressure and end as slow clients when their pages read nothing', async () => {
    let written_bytes = 0;
    const part = chunk(events(said('x'.repeat(20_000))));
    const upstream = await scripted(async socket => {
      socket.write(streamHead());
      const gone = new Promise(resolve => socket.once('close', resolve));
      while (!socket.destroyed) {
        written_bytes += part.length;
        if (!socket.write(part))
          await Promise.race([gone, new Promise(resolve => socket.once('drain', resolve))]);
      }
    });
    const { url, visitor, gateway } = await opened(upstream, { server: { slow_client_ms: 1500 } } as object);
    const body = fieldsOf(visitor, streaming('endless'), clientKey).toString();
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    sockets.push(socket);
    socket.pause().on('error', () => {});
    socket.write(
      `POST /ops/playground-run HTTP/1.1\r\nhost: ${new URL(url).host}\r\norigin: ${url}\r\ncookie: ${cookieOf(visitor)}\r\n` +
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

describe('a gateway that shuts down', () => {
  it('ends running playground requests and refuses new ones', async () => {
    const { begin, gateway, run } = await opened(await simulated());
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

describe('the playground page', () => {
  it('works when the dashboard is mounted', async () => {
    const { url } = await opened(await simulated());
    const browser = await startBrowser();
    try {
      const { page, faults } = await watchedPage(browser);
      await page.goto(`${url}/ops/playground`);
      await signIn(page);
      await page.getByLabel('API key').fill(clientKey);
      await page
        .getByRole('textbox', { name: 'Prompt', exact: true })
        .fill('Hello? [[sim:reasoning=none tokens=5 tps=200]]');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('In the ledger: account tester, answered by upstream, completed.').waitFor();
      expect(page.url()).toBe(`${url}/ops/playground`);
      expect(await page.locator('#code').textContent()).toContain(`'${url}/v1/chat/completions'`);
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it('links to key creation when no key exists, and asks for none when the gateway is open', async () => {
    const upstream = await scripted(hello);
    const none = await opened(upstream, { accounts: {} });
    expect((await none.visitor.get('playground')).text).toContain('No key has been issued yet');
    await none.visitor.post('accounts', { id: 'acme' });
    await none.visitor.get('account?id=acme');
    const { location } = await none.visitor.post('issue?account=acme', {
      name: 'for trying',
      expires: 'day',
    });
    expect((await none.visitor.get(location!)).text).toContain('href="playground"');
    expect((await none.visitor.get('playground')).text).not.toContain('No key has been issued yet');
    const open = await opened(upstream, {
      server: { port: 0, open: true },
      stages: ['error-envelope', 'validation'],
    } as object);
    expect((await open.visitor.get('playground')).text).not.toContain('name="key"');
    expect((await open.run(streaming('Hello?'), '')).at(-1)![0]).toBe('done');
  });

  it('shows the public_url of the gateway', async () => {
    const { visitor } = await opened(await scripted(hello), {
      server: { public_url: 'https://llm.example.com/gateway/' },
    } as object);
    expect((await visitor.get('playground')).text).toContain('value="https://llm.example.com/gateway"');
  });
});
