import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';
import { recordsPlace } from '../support/records-place.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let sidecars: SidecarProcess[] = [];

async function start(sections: Partial<GatewayConfig> = {}): Promise<SidecarProcess> {
  simulator ??= await startSimulator();
  const sidecar = await startSidecar(sidecarConfig(simulator.url, sections));
  sidecars.push(sidecar);
  return sidecar;
}

afterEach(async () => {
  for (const sidecar of sidecars) sidecar.signal('SIGKILL');
  await Promise.all(sidecars.map(({ exited }) => exited));
  sidecars = [];
  await simulator?.close();
  simulator = undefined as never;
});

const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };
const chat = ({ url }: SidecarProcess, content = 'Hello', more: object = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(ask(content, more)),
  });
const isUnready = async ({ adminUrl }: SidecarProcess) => (await fetch(`${adminUrl}/readyz`)).status === 503;
const endless = 'Hello [[sim:tokens=endless tps=20]]';

describe('SIGHUP', () => {
  it('ends neither the process nor its exchanges', async () => {
    const sidecar = await start();
    const stream = await chat(sidecar, 'Hello [[sim:tokens=20 reasoning_tokens=10 tps=20]]', {
      stream: true,
    });
    sidecar.signal('SIGHUP');
    const events = eventsOf(await stream.text());
    expect(events.at(-2)?.json).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    sidecar.signal('SIGHUP');
    expect((await chat(sidecar)).status).toBe(200);
    expect(await sidecar.stop()).toBe(0);
  });
});

describe('the unready period before a shutdown', () => {
  it('serves requests until unready_ms has passed, each on a connection that then closes', async () => {
    const sidecar = await start({ server: { unready_ms: 4000 } } as Partial<GatewayConfig>);
    sidecar.signal('SIGTERM');
    await until(() => isUnready(sidecar));
    const served = await send(`${sidecar.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, connection: 'keep-alive' },
      body: JSON.stringify(ask('Hello')),
    });
    expect([served.status, served.headers.connection]).toEqual([200, 'close']);
    const running = chat(sidecar, 'Hello [[sim:ttft=6000]]');
    await until(async () => (await chat(sidecar)).status === 502);
    expect((await running).status).toBe(200);
    expect(await sidecar.exited).toBe(0);
  });

  it('is skipped on SIGINT and ended by a second signal', async () => {
    const server = { unready_ms: 600_000 };
    const [interrupted, twice] = [
      await start({ server } as Partial<GatewayConfig>),
      await start({ server } as Partial<GatewayConfig>),
    ];
    interrupted.signal('SIGINT');
    expect(await interrupted.exited).toBe(0);
    twice.signal('SIGTERM');
    await until(() => isUnready(twice));
    twice.signal('SIGTERM');
    expect(await twice.exited).toBe(1);
  });
});

describe('a second SIGTERM', () => {
  it('ends a running stream with an error event and writes its ledger row before the exit', async () => {
    const place = await recordsPlace();
    try {
      const sidecar = await start({ stores: place.stores, server: { drain_ms: 600_000 } } as GatewayConfig);
      const stream = await chat(sidecar, endless, { stream: true });
      await until(() => simulator.stats.open === 1);
      sidecar.signal('SIGTERM');
      await until(() => isUnready(sidecar));
      sidecar.signal('SIGTERM');
      const events = eventsOf(await stream.text());
      expect(events.at(-1)?.data).toBe('[DONE]');
      expect(events.at(-2)?.json).toMatchObject({ error: { type: 'server_error' } });
      expect(await sidecar.exited).toBe(1);
      const rows = await place.look(store => store.ledger.list({ limit: 10 }));
      expect(rows).toMatchObject([{ account: 'tester', end_reason: 'shutdown' }]);
      expect(rows[0]!.completion_tokens).toBeGreaterThan(0);
    } finally {
      await place.remove();
    }
  });
});

describe('a log that is not read', () => {
  const refused = async ({ url }: SidecarProcess) =>
    (await send(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })).status;

  it('blocks neither requests nor the exit, and the lost lines are counted', async () => {
    const sidecar = await start({ log: { level: 'debug' } });
    sidecar.hangReader();
    // Several times what a pipe and its reader hold.
    for (let count = 0; count < 60; count++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => refused(sidecar)));
      expect(new Set(answers)).toEqual(new Set([401]));
    }
    expect((await chat(sidecar)).status).toBe(200);
    sidecar.signal('SIGTERM');
    await until(() => /\d+ log lines were lost because standard output was not read/.test(sidecar.output()));
    await until(() => sidecar.hasEnded());
  });
});

describe('reuse_port', () => {
  it('lets the next process take over under load without a refused request or connection', async () => {
    const server = { reuse_port: true, unready_ms: 200 } as GatewayConfig['server'];
    const first = await start({ server } as Partial<GatewayConfig>);
    const port = Number(new URL(first.url).port);
    const failures: unknown[] = [];
    let answered = 0;
    let isOver = false;
    const client = async (path: string) => {
      // biome-ignore lint/plugin: load, not a wait.
      while (!isOver) {
        await send(first.url + path).then(
          ({ status }) => (status === 200 ? answered++ : failures.push(status)),
          ({ code }) => failures.push(code),
        );
        await sleep(5);
      }
    };
    const clients = Array.from({ length: 4 }, () => client('/v1/models'));
    const next = await start({ server: { ...server, port } } as Partial<GatewayConfig>);
    const stream = await chat(first, 'Hello [[sim:tokens=20 tps=10]]', { stream: true });
    first.signal('SIGTERM');
    expect(await first.exited).toBe(0);
    const before = answered;
    await until(() => answered > before + 50);
    isOver = true;
    await Promise.all(clients);
    expect(await stream.text()).toContain('data: [DONE]');
    // Those that waited in the old queue in that moment are reset without net.ipv4.tcp_migrate_req: at most one of each client. None is refused.
    expect(failures.filter(failure => failure !== 'ECONNRESET')).toEqual([]);
    expect(failures.length).toBeLessThanOrEqual(clients.length);
    expect(await next.stop()).toBe(0);
  });
});
