import { Agent } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import { recordsPlace } from '../support/records-place.ts';
import { endServed, serveHere } from '../support/sidecar-here.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';
import { CatalogLoad } from '../support/workers-sidecar.ts';

let simulator: Simulator;
let sidecars: SidecarProcess[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(async () => {
  for (const sidecar of sidecars) sidecar.signal('SIGKILL');
  await Promise.all(sidecars.map(({ exited }) => exited));
  sidecars = [];
  await endServed();
  await until(() => simulator.stats.open === 0);
});
afterAll(() => simulator.close());

const configOf = (server: object, sections: object = {}) =>
  sidecarConfig(simulator.url, { ...sections, server } as Partial<GatewayConfig>);

async function start(server: object = {}, sections: object = {}): Promise<SidecarProcess> {
  const sidecar = await startSidecar(configOf(server, sections));
  sidecars.push(sidecar);
  return sidecar;
}

const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };
const chat = ({ url }: { url: string }, content = 'Hello', more: object = {}) =>
  fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(ask(content, more)) });
const endless = 'Hello [[sim:tokens=endless tps=20]]';
const isUnready = async ({ adminUrl }: { adminUrl: string }) =>
  (await fetch(`${adminUrl}/readyz`)).status === 503;

/** SIGTERM, and the wait until it has been noticed. */
async function terminate(sidecar: SidecarProcess): Promise<void> {
  sidecar.signal('SIGTERM');
  await until(() => isUnready(sidecar), 5000);
}

const failure = {
  error: { message: 'Temporary server-side error. Retry the request.', type: 'server_error' },
};

describe('SIGTERM', () => {
  it('lets running replies finish, refuses new requests, and exits 0, as after SIGHUP', async () => {
    const sidecar = await start({ drain_ms: 60_000 });
    const { stats } = simulator;
    const [requests, completed] = [stats.requests, stats.completed];
    const stream = await chat(sidecar, 'Hello [[sim:tokens=20 reasoning_tokens=10 tps=12]]', {
      stream: true,
    });
    const whole = chat(sidecar, 'Hello [[sim:tokens=10 reasoning_tokens=20 tps=12]]');
    await until(() => stats.open === 2);
    sidecar.signal('SIGHUP');
    await terminate(sidecar);

    expect((await fetch(`${sidecar.adminUrl}/healthz`)).status).toBe(200);
    for (const refused of [await chat(sidecar), await fetch(`${sidecar.url}/v1/models`)]) {
      expect(refused.status).toBe(502);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('connection')).toBe('close');
      expect(refused.headers.get('x-request-id')).toMatch(/^req_/);
      expect(await refused.json()).toEqual(failure);
    }
    expect(stats.requests).toBe(requests + 2);

    const events = eventsOf(await stream.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.at(-2)?.json).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: {} });
    expect(await (await whole).json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(await sidecar.exited).toBe(0);
    expect(stats.completed).toBe(completed + 2);
  });

  it('sent twice ends a running stream with an error event, writes its ledger row and exits 1', async () => {
    const place = await recordsPlace();
    try {
      const sidecar = await start({ drain_ms: 600_000, unready_ms: 600_000 }, { stores: place.stores });
      const stream = await chat(sidecar, endless, { stream: true });
      await until(() => simulator.stats.open === 1);
      await terminate(sidecar);
      sidecar.signal('SIGTERM');
      const events = eventsOf(await stream.text());
      expect(events.at(-1)?.data).toBe('[DONE]');
      expect(events.at(-2)?.json).toEqual(failure);
      expect(await sidecar.exited).toBe(1);
      const rows = await place.look(store => store.ledger.list({ limit: 10 }));
      expect(rows).toMatchObject([{ account: 'tester', end_reason: 'shutdown' }]);
      expect(rows[0]!.completion_tokens).toBeGreaterThan(0);
    } finally {
      await place.remove();
    }
  });
});

describe('a shutdown', () => {
  it('cuts what exceeds the deadline with an error, and waits neither for idle connections nor for a body that does not arrive', async () => {
    const sidecar = await serveHere(configOf({ drain_ms: 1000 }));
    const idle = new RawConnection(sidecar.url);
    idle.write('GET /v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n');
    await idle.received(/"object":"list"/);
    const silent = new RawConnection(sidecar.url);
    const slow = new RawConnection(sidecar.url);
    slow.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\n` +
        'content-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    );
    const stream = await chat(sidecar, endless, { stream: true });
    const whole = chat(sidecar, 'Hello [[sim:tokens=endless]]');
    await until(() => simulator.stats.open === 2 && sidecar.gateway.inFlight === 3);
    const begun_ms = performance.now();
    const [text] = await Promise.all([stream.text(), sidecar.stop()]);
    expect(performance.now() - begun_ms).toBeLessThan(6000);

    const events = eventsOf(text);
    expect(events.length).toBeGreaterThan(10);
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.at(-2)?.json).toEqual(failure);
    expect((await whole).status).toBe(502);
    expect(await (await whole).json()).toEqual(failure);
    await Promise.all([idle, silent, slow].map(connection => connection.closed));
    expect(slow.text).toMatch(/^HTTP\/1\.1 502 [\s\S]*server_error/);
  });

  it('waits for a background read that only the bill needs, and for nothing else', async () => {
    const sidecar = await serveHere(configOf({ drain_ms: 600_000, non_stream_timeout_ms: 400 }));
    const { completed, aborted } = simulator.stats;
    expect((await chat(sidecar, 'Hello [[sim:ttft=1500]]')).status).toBe(524);
    await sidecar.stop();
    expect(simulator.stats).toMatchObject({ completed: completed + 1, aborted });
  });

  it('serves requests until unready_ms has passed, each on a connection that then closes, as do streams of before', async () => {
    const sidecar = await serveHere(configOf({ unready_ms: 2000 }));
    const before = new RawConnection(sidecar.url);
    const body = JSON.stringify(ask('Hello [[sim:tokens=12 reasoning_tokens=0 tps=12]]', { stream: true }));
    before.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await before.received(/data: /);
    const closed = sidecar.stop();
    expect(await isUnready(sidecar)).toBe(true);
    const served = await send(`${sidecar.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, connection: 'keep-alive' },
      body: JSON.stringify(ask('Hello')),
    });
    expect([served.status, served.headers.connection]).toEqual([200, 'close']);
    const running = chat(sidecar, 'Hello [[sim:ttft=4000]]');
    await before.closed;
    expect(before.text).toMatch(/connection: keep-alive[\s\S]*data: \[DONE\]\n\n\r\n0\r\n\r\n$/i);
    await until(async () => (await chat(sidecar)).status === 502, 4000);
    expect((await running).status).toBe(200);
    await closed;
  });
});

describe('reuse_port', () => {
  it('lets another sidecar take over under load, and be reloaded, without a refused request or connection', async () => {
    const [server, clients] = [{ reuse_port: true, unready_ms: 200 }, 4];
    const first = await serveHere(configOf(server));
    const port = Number(new URL(first.url).port);
    const load = new CatalogLoad(first.url, new Agent(), clients);
    const next = await serveHere(configOf({ ...server, port }));
    const stream = await chat(first, 'Hello [[sim:tokens=10 reasoning_tokens=0 tps=10]]', { stream: true });
    await first.stop();
    await next.gateway.reload(configOf({ ...server, port, max_background: 7 }, { plans: { free: {} } }));
    await load.more(50);
    await load.end();
    expect(await stream.text()).toContain('data: [DONE]');
    // Those that waited in the old queue in that moment are reset without net.ipv4.tcp_migrate_req: at most one of each client. None is refused.
    expect(load.failures.filter(failure => failure !== 'ECONNRESET')).toEqual([]);
    expect(load.failures.length).toBeLessThanOrEqual(clients);
  });
});

describe('a log that is not read', () => {
  it('blocks neither requests nor the exit, and the lost lines are counted', async () => {
    const sidecar = await start({}, { log: { level: 'debug' } });
    const refused = async () =>
      (await send(`${sidecar.url}/v1/chat/completions`, { method: 'POST', body: '{}' })).status;
    sidecar.hangReader();
    // Several times what a pipe and its reader hold.
    for (let count = 0; count < 15; count++) {
      const answers = await Promise.all(Array.from({ length: 20 }, refused));
      expect(new Set(answers)).toEqual(new Set([401]));
    }
    expect((await chat(sidecar)).status).toBe(200);
    sidecar.signal('SIGTERM');
    await until(() => /\d+ log lines were lost because standard output was not read/.test(sidecar.output()));
    await until(() => sidecar.hasEnded());
  });
});
