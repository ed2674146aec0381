import { afterEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;

async function start(server: Readonly<Record<string, number>>): Promise<void> {
  simulator = await startSimulator();
  sidecar = await startSidecar(sidecarConfig(simulator.url, { server }));
}

afterEach(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

const post = (content: string, more: object = {}): Promise<Response> =>
  fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask(content, more)),
  });

const statusOf = async (path: string): Promise<number> => (await fetch(sidecar.adminUrl + path)).status;

const metrics = async (): Promise<string> => (await fetch(`${sidecar.adminUrl}/metrics`)).text();

/** SIGTERM, and the wait until it has been noticed. */
async function terminate(): Promise<void> {
  sidecar.signal('SIGTERM');
  await until(async () => (await statusOf('/readyz')) === 503);
}

/** How long the process took from now on to end, with its code. */
async function ending(): Promise<{ code: number | null; took_ms: number }> {
  const start_ms = Date.now();
  const code = await sidecar.exited;
  return { code, took_ms: Date.now() - start_ms };
}

describe('SIGTERM', () => {
  it('lets running replies finish, refuses new requests, and exits 0', async () => {
    await start({ drain_ms: 60_000 });
    expect(await statusOf('/readyz')).toBe(200);
    const stream = await post('Hello [[sim:tokens=40 reasoning_tokens=20 tps=12]]', { stream: true });
    const whole = post('Hello [[sim:tokens=20 reasoning_tokens=20 tps=12]]');
    await until(() => simulator.stats.open === 2);
    await terminate();

    expect(await statusOf('/healthz')).toBe(200);
    for (const refused of [await post('Hello'), await fetch(`${sidecar.url}/v1/models`)]) {
      expect(refused.status).toBe(502);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('connection')).toBe('close');
      expect(refused.headers.get('x-request-id')).toMatch(/^req_/);
      expect(await refused.json()).toEqual({
        error: { message: 'Temporary server-side error. Retry the request.', type: 'server_error' },
      });
    }
    expect(simulator.stats.requests).toBe(2);

    const events = eventsOf(await stream.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.at(-2)?.json).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: {} });
    expect(await (await whole).json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect((await ending()).code).toBe(0);
    expect(simulator.stats).toMatchObject({ completed: 2, aborted: 0 });
  });

  it('closes the connection of a stream that began before, so that the next request goes elsewhere', async () => {
    await start({ unready_ms: 60_000 });
    const connection = new RawConnection(sidecar.url);
    const body = JSON.stringify(ask('Hello [[sim:tokens=12 reasoning_tokens=0 tps=12]]', { stream: true }));
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await connection.received(/data: /);
    await terminate();
    await connection.closed;
    expect(connection.text).toMatch(/connection: keep-alive[\s\S]*data: \[DONE\]\n\n\r\n0\r\n\r\n$/i);
  });

  it('cuts replies that exceed the deadline with an error event and exits 0', async () => {
    await start({ drain_ms: 1500 });
    const stream = await post('Hello [[sim:tokens=endless tps=20]]', { stream: true });
    const whole = post('Hello [[sim:tokens=endless]]');
    await until(() => simulator.stats.open === 2);
    await terminate();

    const events = eventsOf(await stream.text());
    expect(events.length).toBeGreaterThan(10);
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.at(-2)?.json).toEqual({
      error: { message: 'Temporary server-side error. Retry the request.', type: 'server_error' },
    });
    expect((await whole).status).toBe(502);
    expect(await (await whole).json()).toMatchObject({ error: { type: 'server_error' } });
    expect((await ending()).code).toBe(0);
    await until(() => simulator.stats.aborted === 2);
  });

  it('waits neither for idle connections nor for a body that does not arrive', async () => {
    await start({ drain_ms: 1500 });
    const idle = new RawConnection(sidecar.url);
    idle.write('GET /v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n');
    await idle.received(/"object":"list"/);
    const silent = new RawConnection(sidecar.url);
    const slow = new RawConnection(sidecar.url);
    slow.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\n` +
        'content-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    );
    await until(async () => /^sluice_in_flight\{.*\} 1$/m.test(await metrics()));
    sidecar.signal('SIGTERM');
    const { code, took_ms } = await ending();
    expect(code).toBe(0);
    expect(took_ms).toBeLessThan(15_000);
    await Promise.all([idle, silent, slow].map(connection => connection.closed));
    expect(slow.text).toMatch(/^HTTP\/1\.1 502 [\s\S]*server_error/);
  });

  it('exits at once when nothing is running', async () => {
    await start({ drain_ms: 60_000 });
    expect((await post('Hello').then(reply => reply.text())).length).toBeGreaterThan(0);
    sidecar.signal('SIGTERM');
    const { code, took_ms } = await ending();
    expect(code).toBe(0);
    expect(took_ms).toBeLessThan(15_000);
  });

  it('waits for a background read that only the bill needs', async () => {
    await start({ drain_ms: 60_000, non_stream_timeout_ms: 400 });
    expect((await post('Hello [[sim:ttft=3000]]')).status).toBe(524);
    sidecar.signal('SIGTERM');
    expect((await ending()).code).toBe(0);
    expect(simulator.stats).toMatchObject({ completed: 1, aborted: 0 });
  });

  it('ends everything at once when sent twice', async () => {
    await start({ drain_ms: 60_000 });
    await post('Hello [[sim:tokens=endless tps=20]]', { stream: true });
    await terminate();
    sidecar.signal('SIGTERM');
    const { code, took_ms } = await ending();
    expect(code).toBe(1);
    expect(took_ms).toBeLessThan(15_000);
  });
});
