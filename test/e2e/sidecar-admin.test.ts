import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Sidecar, serve } from '../../src/cli/serve.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { capturedLog } from '../support/captured-log.ts';
import { post as postTo } from '../support/chain-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';

const quiet: Partial<GatewayConfig> = { log: { level: 'silent' } };
let simulator: Simulator;
let sidecar: Sidecar;

beforeAll(async () => {
  simulator = await startSimulator({ cached_tokens: 0.5 });
  sidecar = await serve(sidecarConfig(simulator.url, quiet));
});

afterAll(async () => {
  await sidecar?.close();
  await simulator?.close();
});

const post = async (body: object, key = clientKey): Promise<void> => {
  const reply = await postTo(`${sidecar.url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
  await reply.text();
};

describe('the admin address', () => {
  const statusFor = async (host: string, path = '/metrics', admin = sidecar): Promise<number> =>
    (await send(admin.adminUrl + path, { headers: { host } })).status;

  it('answers only for its own host names, so that no page of another site can read it', async () => {
    const { port } = new URL(sidecar.adminUrl);
    for (const path of ['/metrics', '/readyz', '/healthz', '/dashboard/']) {
      for (const host of [`attacker.example:${port}`, 'attacker.example', '192.0.2.1', 'localhost.example'])
        expect([host, await statusFor(host, path)]).toEqual([host, 421]);
    }
    for (const host of [
      `localhost:${port}`,
      'LOCALHOST',
      '127.0.0.1',
      `127.0.0.1:${port}`,
      '[::1]:1',
      'localhost.',
    ])
      expect([host, await statusFor(host)]).toEqual([host, 200]);
    const refused = await send(`${sidecar.adminUrl}/metrics`, { headers: { host: 'attacker.example' } });
    expect(refused.text).toBe('this Host is not allowed; add it to admin.hosts\n');
  });

  it('answers for the names in admin.hosts and for the address that was reached', async () => {
    const admin = { host: '0.0.0.0', port: 0, hosts: ['Sluice.internal'] };
    const listed = await serve(sidecarConfig(simulator.url, { ...quiet, admin } as Partial<GatewayConfig>));
    try {
      expect(await statusFor('sluice.INTERNAL:8081', '/metrics', listed)).toBe(200);
      expect(await statusFor('other.internal', '/metrics', listed)).toBe(421);
      const { port } = new URL(listed.adminUrl);
      const reached = await send(`http://127.0.0.2:${port}/healthz`, {
        headers: { host: `127.0.0.2:${port}` },
      });
      expect(reached.status).toBe(200);
      expect(
        (await send(`http://127.0.0.2:${port}/healthz`, { headers: { host: '127.0.0.3' } })).status,
      ).toBe(421);
    } finally {
      await listed.close();
    }
  });

  it('answers HTTP/1.0 health checks, which have no Host', async () => {
    const connection = new RawConnection(sidecar.adminUrl);
    connection.write('GET /healthz HTTP/1.0\r\n\r\n');
    await connection.received(/^HTTP\/1\.1 200 OK/);
    await connection.closed;
  });

  it('reports that the process is alive and ready', async () => {
    for (const path of ['/healthz', '/readyz', '/healthz?probe=1']) {
      const reply = await fetch(sidecar.adminUrl + path);
      expect(reply.status).toBe(200);
      expect(await reply.text()).toMatch(/^(ok|ready)\n$/);
    }
    expect((await fetch(`${sidecar.adminUrl}/readyz`, { method: 'HEAD' })).status).toBe(200);
  });

  it('serves no other paths', async () => {
    for (const path of ['/', '/v1/models', '/v1/chat/completions'])
      expect((await fetch(sidecar.adminUrl + path)).status).toBe(404);
    expect((await fetch(`${sidecar.adminUrl}/metrics`, { method: 'POST' })).status).toBe(405);
  });

  it('is not served at the public address', async () => {
    for (const path of ['/metrics', '/healthz', '/readyz'])
      expect((await fetch(sidecar.url + path)).status).toBe(404);
  });
});

it('serves a configuration without an address at PORT, and says that it ignores a HOST that is a name', async () => {
  const { log, lines } = capturedLog();
  const { server: _, ...config } = sidecarConfig(simulator.url);
  const named = await serve(
    config as GatewayConfig,
    { log },
    { environment: { HOST: 'my-laptop', PORT: '0' } },
  );
  const { hostname, port } = new URL(named.url);
  expect([hostname, port === '8080', (await fetch(`${named.url}/v1/models`)).status]).toEqual([
    '127.0.0.1',
    false,
    200,
  ]);
  await named.close(0);
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'HOST is not an IP address and is ignored', host: 'my-laptop' }),
  );
});

describe('/metrics', () => {
  let text: string;

  beforeAll(async () => {
    await post(ask('Hello'));
    await post(ask('Hello', { stream: true }));
    await post(ask('Hello [[sim:usage=none]]', { stream: true }));
    await post(ask('Hello [[sim:usage=final]]', { stream: true }));
    await post(ask('Hello [[sim:status=503]]'));
    await post(ask('Hello', { temperature: 'hot' }));
    await post(ask('Hello', { model: 'made-up-by-a-client' }));
    await post(ask('Hello'), 'sk-unknown');
    await fetch(`${sidecar.url}/v1/made-up-by-a-client`);
    const reply = await fetch(`${sidecar.adminUrl}/metrics`);
    expect(reply.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    text = await reply.text();
  });

  it.each([
    ['gzip', 'gzip'],
    ['br, gzip;q=0.5', 'gzip'],
    ['*', 'gzip'],
    ['identity', null],
    ['gzip;q=0, br', null],
  ])('is compressed on request: accept-encoding %j', async (accepted, encoding) => {
    const reply = await fetch(`${sidecar.adminUrl}/metrics`, { headers: { 'accept-encoding': accepted } });
    const body = await reply.text();
    expect([reply.status, reply.headers.get('content-encoding')]).toEqual([200, encoding]);
    expect(reply.headers.get('vary')).toContain('accept-encoding');
    expect(body).toContain('\n# TYPE sluice_requests_total counter\n');
    const sent = Number(reply.headers.get('content-length'));
    expect(sent < body.length / 5).toBe(encoding === 'gzip');
  });

  it('has no label value from a client and no key', () => {
    expect(text).not.toContain('made-up-by-a-client');
    expect(text).not.toMatch(/sk-/);
    expect(text).toMatch(/gen_ai_request_model="_other"/);
  });

  it('has only models, endpoints, statuses and types from closed sets', () => {
    const values = (label: string) =>
      new Set([...text.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g'))].map(([, value]) => value));
    // Of what requests and stages may end with, series are there from the beginning.
    const models = defaultModels('upstream').map(({ id }) => id);
    expect(values('gen_ai_request_model')).toEqual(new Set([...models, '_other']));
    expect(values('endpoint')).toEqual(new Set(['chat.completions', 'responses', 'unknown']));
    expect(values('error_type')).toEqual(
      new Set([
        '',
        'provider_error',
        'invalid_request_error',
        'authentication_error',
        'status',
        'server_error',
        'timeout_error',
        'configuration_error',
      ]),
    );
    expect(values('sluice_provider')).toEqual(new Set(['upstream']));
  });
});
