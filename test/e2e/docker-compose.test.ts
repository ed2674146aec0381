import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { serverSchema } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post as postTo } from '../support/chain-app.ts';
import { runHere } from '../support/command-here.ts';
import { freePort } from '../support/free-port.ts';
import { example, type FrontProxy, replaced, startComposedCaddy } from '../support/front-proxy.ts';
import { ask } from '../support/gateway-under-test.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { send } from '../support/raw-client.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { endServed, type SidecarHere, serveFileHere } from '../support/sidecar-here.ts';

interface Service {
  readonly image: string;
  readonly command?: string | readonly string[];
  readonly ports?: readonly string[];
  readonly secrets?: readonly string[];
  readonly networks: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly stop_grace_period?: string;
}

const { services, secrets } = parse(example('docker-compose/compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
};
const gatewayNames = ['gateway-1', 'gateway-2'] as const;
const folder = new URL('../../examples/docker-compose/', import.meta.url);

describe('examples/docker-compose', () => {
  it('mounts files that are there', async () => {
    const mounted = Object.values(services).flatMap(({ volumes }) =>
      volumes.map(each => each.split(':')[0]!),
    );
    for (const path of mounted.filter(each => each.startsWith('.'))) {
      const { pathname } = new URL(path, folder);
      expect(await readdir(join(pathname, '..'))).toContain(pathname.split('/').at(-1));
    }
  });

  it('publishes the proxy and Grafana alone, at the address of this machine', () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map(port => [name, port]),
    );
    expect(published).toEqual([
      ['caddy', '127.0.0.1:8080:8080'],
      ['grafana', '127.0.0.1:3000:3000'],
    ]);
  });

  it('has every password in a file of its own, and none in an environment', () => {
    for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`);
    const used = new Set(Object.values(services).flatMap(service => service.secrets ?? []));
    expect(used).toEqual(new Set(Object.keys(secrets)));
    const variables = Object.values(services).flatMap(({ environment = {} }) => Object.entries(environment));
    for (const [name, value] of variables.filter(([each]) => /PASSWORD/.test(each))) {
      expect(name).toMatch(/_FILE$/);
      expect(value).toMatch(/^\/run\/secrets\//);
    }
  });

  it('gives a gateway the time of a whole shutdown', () => {
    const { unready_ms, drain_ms } = serverSchema.parse({});
    for (const name of gatewayNames) {
      const [, grace_s] = /^(\d+)s$/.exec(services[name]!.stop_grace_period ?? '') ?? [];
      expect(Number(grace_s) * 1000).toBeGreaterThanOrEqual(unready_ms + drain_ms + 5000);
    }
  });

  it('lets Prometheus and the probes ask the admin listener by the names of the services', () => {
    const { admin } = parse(example('docker-compose/sluice.yaml')) as { admin: { hosts: string[] } };
    expect(admin.hosts).toEqual(gatewayNames);
    const { scrape_configs } = parse(example('docker-compose/prometheus.yaml')) as {
      scrape_configs: { static_configs: { targets: string[] }[] }[];
    };
    expect(scrape_configs[0]?.static_configs[0]?.targets).toEqual(gatewayNames.map(name => `${name}:8081`));
  });
});

describe('the services of examples/docker-compose', () => {
  const gateways: SidecarHere[] = [];
  const configs: string[] = [];
  let directory: string;
  let simulator: Simulator;
  let redis: RedisServer;
  let postgres: PostgresServer;
  let proxy: FrontProxy;
  let key: string;

  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runHere([...args, '--config', configs[0]!]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-compose-'));
    await mkdir(join(directory, 'secrets'));
    for (const name of Object.keys(secrets))
      await writeFile(join(directory, 'secrets', name), `${name}-5f2a\n`);
    simulator = await startSimulator({ reasoning: 'tags' });
    redis = await startRedis({ args: ['--requirepass', 'redis-password-5f2a'] });
    postgres = await startPostgres();
    await postgres.createDatabase('sluice');
    const [port, adminPort] = [await freePort(), await freePort()];
    const hosts = ['127.0.0.1', '127.0.0.2'] as const;
    process.env.UPSTREAM_URL = simulator.url;
    for (const host of hosts) {
      const text = replaced(example('docker-compose/sluice.yaml'), [
        ['server: { host: 0.0.0.0', `server: { host: ${host}, port: ${port}, unready_ms: 0`],
        ['admin: { host: 0.0.0.0', `admin: { host: ${host}, port: ${adminPort}`],
        ['/run/secrets', join(directory, 'secrets')],
        ['redis:6379', `127.0.0.1:${redis.port}`],
        ['postgres:5432', new URL(postgres.url).host],
      ]);
      const file = join(directory, `${host}.yaml`);
      await writeFile(file, text);
      configs.push(file);
      gateways.push(await serveFileHere(file));
    }
    await command('accounts', 'create', 'acme', '--plan', 'free');
    key = /sk-sluice-\S+/.exec(await command('keys', 'create', '--account', 'acme'))?.[0] ?? '';
    proxy = await startComposedCaddy({
      addresses: [`${hosts[0]}:${port}`, `${hosts[1]}:${port}`],
      adminPort,
    });
  });

  afterAll(async () => {
    await proxy?.stop();
    await endServed();
    await redis?.stop();
    await postgres?.stop();
    await simulator?.close();
    await rm(directory, { recursive: true, force: true });
  });

  const post = (url: string, more: object = {}) =>
    postTo(`${url}/v1/chat/completions`, ask('Why do rivers bend? [[sim:say=They wander.]]', more), {
      authorization: `Bearer ${key}`,
    });

  it('streams to a client whose key was made by command', async () => {
    const reply = await post(proxy.url, { stream: true });
    expect(await reply.text()).toContain('data: [DONE]');
    expect(reply.status).toBe(200);
  });

  it('counts the requests of both gateways together', async () => {
    const remaining: number[] = [];
    for (const { url } of gateways)
      remaining.push(Number((await post(url)).headers.get('x-ratelimit-remaining-requests')));
    expect(remaining[1]).toBe(remaining[0]! - 1);
  });

  it('answers Prometheus and probes by the names of the services', async () => {
    for (const [at, { adminUrl }] of gateways.entries()) {
      const headers = { host: `${gatewayNames[at]}:8081` };
      expect((await send(`${adminUrl}/readyz`, { headers })).status).toBe(200);
      expect((await send(`${adminUrl}/metrics`, { headers })).text).toContain('sluice_build_info');
    }
  });
});
