import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { schemaFinding } from '../../plugins/stores/records/schema-finding.ts';
import { checkCollector } from '../../src/cli/doctor/collector-check.ts';
import { diagnose } from '../../src/cli/doctor/diagnose.ts';
import { checkClock, checkOpenFiles, checkWorkers } from '../../src/cli/doctor/machine-check.ts';
import { withoutSecrets } from '../../src/cli/doctor/secrets.ts';
import { checkRecords, checkState } from '../../src/cli/doctor/store-checks.ts';
import { serve } from '../../src/cli/serve.ts';
import type { Finding } from '../../src/common/finding.ts';
import { stateServerAt } from '../../src/config/state-server.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { runHere } from '../support/command-here.ts';
import { openRecords, placeOf } from '../support/open-records.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';

const key = 'sk-canary-of-the-provider';
const redisPassword = 'canary-of-redis';
let folder: string;
let file: string;
let simulator: Simulator;
let redis: RedisServer;
const cleanUps: (() => unknown)[] = [];

beforeAll(async () => {
  simulator = await startSimulator({ api_key: key, models: ['small', 'large'] });
  redis = await startRedis({ args: ['--requirepass', redisPassword] });
});
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-doctor-'));
  file = join(folder, 'sluice.json');
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});
afterAll(async () => {
  await Promise.all([simulator.close(), redis.stop()]);
  rmSync(folder, { recursive: true });
});

/** A configuration with one model at one provider. */
function configOf(sections: object = {}, provider: object = {}, upstream = 'small'): object {
  return {
    server: { port: 0 },
    admin: { port: 0 },
    providers: { local: { adapter: 'vllm', base_url: simulator.url, api_key: key, ...provider } },
    models: [
      {
        id: 'vendor/model',
        name: 'Model',
        date: '2026-01-01',
        context_length: 1000,
        max_completion_tokens: 100,
        pricing: { prompt: '0', completion: '0' },
        reasoning: false,
        tool_calls: true,
        reasoning_effort: { supported: false, levels: [], default: null },
        upstreams: [{ provider: 'local', model: upstream }],
      },
    ],
    accounts: { tester: { keys: [{ value: 'sk-canary-of-a-client' }] } },
    ...sections,
  };
}

async function found(config: object, generate = false): Promise<readonly Finding[]> {
  writeFileSync(file, JSON.stringify(config));
  return diagnose(file, generate);
}

/** Findings of one thing that are not well, each on a line. */
const bad = (findings: readonly Finding[], thing = '') =>
  findings
    .filter(finding => finding.thing.startsWith(thing) && finding.status !== 'ok')
    .map(({ status, thing, found, remedy }) => `${status} ${thing}: ${found} → ${remedy}`);

/** A server on a free port, until the end of the test. */
async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => new Promise(resolve => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

const answering = (answer: RequestListener) => listening(createHttpServer(answer));

describe('sluice doctor', () => {
  it('confirms everything of a gateway that can start, and changes nothing', async () => {
    const stores = { state: `redis://:${redisPassword}@127.0.0.1:${redis.port}`, records: 'sqlite:./new.db' };
    writeFileSync(file, JSON.stringify(configOf({ stores })));
    const before = readdirSync(folder);
    const { code, stdout } = await runHere(['doctor', '--format', 'json', '--config', file]);
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
    expect(findings.filter(({ status }) => status === 'fault')).toEqual([]);
    expect([code, ok]).toEqual([0, true]);
    expect(findings.map(({ thing }) => thing)).toEqual([
      'configuration',
      'provider local',
      'state store',
      'records store',
      'server address',
      'admin address',
      'clock',
      'OTLP collector',
      'node',
      'open files',
    ]);
    expect(readdirSync(folder)).toEqual(before);
    expect(await redis.cli('-a', redisPassword, 'dbsize')).toMatch(/^0$/m);
    expect(simulator.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it('says on two lines what is wrong and what to do, and exits with 1', async () => {
    writeFileSync(file, JSON.stringify(configOf({}, {}, 'huge')));
    const { code, stdout, stderr } = await runHere(['doctor', '--config', file]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toContain(
      'fault    provider local: its list of models has no huge\n         → correct upstreams.model; it lists: small, large\n',
    );
    expect(stdout).toMatch(/\n1 fault, no warnings\n$/);
  });

  it('reports the mistakes of a configuration, and still looks at the machine', async () => {
    const findings = await found(configOf({ unknown: 1 }));
    expect(bad(findings, 'configuration')).toEqual([expect.stringMatching(/^fault .*unknown/)]);
    expect(findings).toContainEqual(expect.objectContaining({ thing: 'open files' }));
  });

  it('asks for one token of each upstream model only with --generate', async () => {
    const findings = await found(configOf(), true);
    expect(findings).toContainEqual(
      expect.objectContaining({ status: 'ok', thing: 'provider local, one token of small' }),
    );
    expect(simulator.requests.at(-1)).toMatchObject({
      method: 'POST',
      body: { max_tokens: 1, model: 'small' },
    });
  });

  it('prints no secret, whoever repeats it', async () => {
    const port = await answering((request, response) => {
      response.statusCode = 401;
      response.end(`no key ${request.headers.authorization} ${request.headers['x-own']}`);
    });
    const provider = {
      base_url: `http://user:canary-of-the-address@127.0.0.1:${port}/v1`,
      headers: { 'x-own': 'canary-of-a-header' },
    };
    const state = `redis://:wrong-canary-of-redis@127.0.0.1:${redis.port}`;
    const records = 'postgres://user:canary-of-postgres@127.0.0.1:1/none';
    const findings = await found(configOf({ stores: { state, records } }, provider), true);
    expect(findings.filter(({ status }) => status === 'fault').length).toBeGreaterThanOrEqual(3);
    expect(JSON.stringify(findings)).not.toContain('canary');
  });

  it('prints no header of the collector, as it is written or as it is sent', () => {
    const told = {
      thing: 'OTLP collector',
      status: 'fault',
      found: 'no Bearer%20canary, no Bearer canary',
    } as const;
    const environment = { OTEL_EXPORTER_OTLP_HEADERS: 'x-a=b,authorization=Bearer%20canary' };
    expect(withoutSecrets([told], undefined, environment)).toEqual([
      { ...told, found: 'no [secret], no [secret]' },
    ]);
  });
});

describe('what a server says', () => {
  it('is shown on one line, without characters that a terminal would obey', async () => {
    const port = await answering((_, response) => response.end('<html>\u001b[2J\n\u009b31mred'));
    const [finding] = bad(
      await found(configOf({}, { base_url: `http://127.0.0.1:${port}/v1` })),
      'provider local',
    );
    expect(finding).toMatch(/not JSON: <html>\?\[2J\?\?31mred → /);
  });
});

describe('a provider', () => {
  it.each<[string, object, RegExp, RegExp]>([
    ['a key that it refuses', { api_key: 'sk-another' }, /answered 401/, /does not accept the key/],
    ['no key where it wants one', { api_key: undefined }, /answered 401/, /none was sent/],
    [
      'an address where nothing listens',
      { base_url: 'http://127.0.0.1:1/v1' },
      /nothing listens/,
      /start the server/,
    ],
    ['a name that does not exist', { base_url: 'http://no.such.invalid/v1' }, /name is not known/, /DNS/],
  ])('is at fault with %s', async (_, provider, says, advises) => {
    const line = new RegExp(`^fault provider local: .*${says.source}.* → .*${advises.source}`);
    expect(bad(await found(configOf({}, provider)), 'provider local')).toEqual([expect.stringMatching(line)]);
  });

  it('is at fault with TLS where there is none, and without it where there is', async () => {
    const { url, close } = await startTlsProxy(simulator.url, new Date(Date.now() + 86_400_000));
    cleanUps.push(close);
    const other = (base_url: string) => found(configOf({}, { base_url }));
    const none = await other(simulator.url.replace('http:', 'https:'));
    expect(bad(none, 'provider')[0]).toMatch(/^fault .* → .*http:\/\//);
    const plain = await other(url.replace('https:', 'http:'));
    expect(bad(plain, 'provider')[0]).toMatch(/^fault .* → .*https:\/\//);
    const soon = await other(url);
    expect(bad(soon, 'provider')).toEqual([
      expect.stringMatching(/^warning .*certificate ends in [01] days/),
    ]);
  });

  it('names the one of its keys that is refused', async () => {
    const config = configOf({}, { api_key: undefined, api_keys: [key, 'sk-canary-old'] });
    expect(bad(await found(config), 'provider')).toEqual([
      expect.stringMatching(/^fault provider local, key 2:/),
    ]);
  });

  it('is at fault where its address lacks the /v1 below which its models are listed', async () => {
    const base_url = simulator.url.replace('/v1', '');
    expect(bad(await found(configOf({}, { base_url })), 'provider')).toEqual([
      `fault provider local: ${base_url} has no list of models (404), and ${base_url}/v1 has one → write base_url: ${base_url}/v1`,
    ]);
  });

  it('need not list its models', async () => {
    const port = await answering((_, response) => void response.writeHead(404).end());
    const findings = await found(configOf({}, { base_url: `http://127.0.0.1:${port}/v1` }));
    expect(bad(findings, 'provider')).toEqual([expect.stringMatching(/^warning.* → .*--generate/)]);
  });
});

describe('the state store', () => {
  const urlOf = (password: string) => `redis://:${password}@127.0.0.1:${redis.port}`;

  it('is at fault with another password', async () => {
    expect(bad(await checkState(stateServerAt(urlOf('other'))))).toEqual([
      expect.stringMatching(/^fault.* → .*password/),
    ]);
  });

  it('is warned of when it may forget counters', async () => {
    await redis.cli('-a', redisPassword, 'config', 'set', 'maxmemory-policy', 'allkeys-lru');
    expect(bad(await checkState(stateServerAt(urlOf(redisPassword))), 'state')).toEqual([
      expect.stringMatching(/^warning .*allkeys-lru/),
    ]);
  });

  it('is at fault when its user may not run scripts', async () => {
    const login = [
      '-a',
      redisPassword,
      'acl',
      'setuser',
      'limited',
      'on',
      '>secret',
      '~*',
      '+@all',
      '-@scripting',
    ];
    await redis.cli(...login);
    const limited = `redis://limited:secret@127.0.0.1:${redis.port}`;
    expect(bad(await checkState(stateServerAt(limited)))).toContainEqual(
      expect.stringMatching(/^fault .* → .*EVAL/),
    );
  });
});

describe('the records store', () => {
  const sqlite = (path: string) =>
    checkRecords({ place: placeOf({ kind: 'sqlite', path }), queue_path: `${path}-queue` } as Parameters<
      typeof checkRecords
    >[0]);

  it('in a file is well when it is current, and at fault when it is of a newer version', async () => {
    const path = join(folder, 'records.db');
    const store = await openRecords({ kind: 'sqlite', path });
    await store.migrate(Date.now());
    const running = await sqlite(path);
    expect(bad(running, 'records')).toEqual([]);
    await store.close();
    const files = readdirSync(folder);
    expect(await sqlite(path)).toEqual(running);
    expect(readdirSync(folder)).toEqual(files);
    const database = new DatabaseSync(path);
    database.exec("INSERT INTO schema_migrations VALUES (9999, 'of later', 0)");
    database.close();
    expect(bad(await sqlite(path), 'records')).toEqual([
      expect.stringMatching(/^fault .*schema version 9999/),
    ]);
  });

  it('in a file is at fault without its folder, and when it is no database', async () => {
    expect(bad(await sqlite(join(folder, 'none', 'records.db')))).toEqual([
      expect.stringMatching(/^fault .*ENOENT/),
    ]);
    writeFileSync(join(folder, 'text.db'), 'no database '.repeat(100), { mode: 0o600 });
    expect(bad(await sqlite(join(folder, 'text.db')))).toEqual([expect.stringMatching(/^fault/)]);
  });

  it('in Postgres is read and not migrated, and at fault when it is from before the first release', async () => {
    const server = await startPostgres();
    cleanUps.push(() => server.stop());
    const { url } = server;
    const place = placeOf({ kind: 'postgres', url });
    const check = () => checkRecords({ place, queue_path: join(folder, 'queue.db') } as never);
    expect(await check()).toEqual([
      expect.objectContaining({ status: 'ok', found: expect.stringContaining('is empty') }),
    ]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    cleanUps.unshift(() => client.end());
    const { rows } = await client.query("SELECT to_regnamespace('sluice') AS schema");
    expect(rows).toEqual([{ schema: null }]);
    const store = await openRecords(url);
    await store.migrate(Date.now());
    await store.close();
    expect(bad(await check(), 'records')).toEqual([]);
    await client.query('UPDATE sluice.schema_migrations SET version = version - 8');
    expect(bad(await check())).toEqual([
      expect.stringMatching(/^fault .*schema version \d, from before the first release/),
    ]);
  });
});

describe('a records store of an earlier version', () => {
  it('is warned of, with the number of steps, because the next start migrates it', () => {
    expect(schemaFinding('it', 9, { first: 9, newest: 11 })).toMatchObject({
      status: 'warning',
      found: expect.stringContaining('it has schema version 9; the next start migrates it to 11 (2 steps)'),
    });
  });
});

describe('the addresses of the listeners', () => {
  it('may be held by a running sluice, and by no other program', async () => {
    const sidecar = await serve(
      configOf({ log: { level: 'silent' }, server: { port: 0, unready_ms: 0 } }) as never,
    );
    cleanUps.push(() => sidecar.close());
    const port = await listening(createServer(socket => socket.destroy()));
    const taken = { server: { port: Number(new URL(sidecar.url).port) }, admin: { port } };
    const findings = await found(configOf(taken));
    expect(findings).toContainEqual(
      expect.objectContaining({
        status: 'ok',
        thing: 'server address',
        found: expect.stringMatching(/running sluice/),
      }),
    );
    expect(bad(findings, 'admin address')).toEqual([
      expect.stringMatching(/^fault .*held by another program/),
    ]);
    const admin = { port: Number(new URL(sidecar.adminUrl).port) };
    expect(bad(await found(configOf({ admin })), 'admin address')).toEqual([]);
  });

  it('must be addresses of this machine', async () => {
    expect(
      bad(await found(configOf({ server: { host: '192.0.2.1', port: 8080 } })), 'server address'),
    ).toEqual([expect.stringMatching(/^fault .*no address of this machine/)]);
  });
});

describe('the collector', () => {
  const check = (variables: Record<string, string>) => checkCollector(variables);

  it('is well when it takes a request without spans, by its path and with its headers', async () => {
    const asked: unknown[] = [];
    const port = await answering((request, response) => {
      asked.push([request.method, request.url, request.headers['x-token'], request.headers['content-type']]);
      response.end();
    });
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=a%20b',
    };
    expect(await check(variables)).toEqual([expect.objectContaining({ status: 'ok' })]);
    expect(asked).toEqual([['POST', '/v1/traces', 'a b', 'application/x-protobuf']]);
  });

  it('is at fault with the port of the other protocol', async () => {
    const http = await answering((_, response) => void response.end());
    const server = createHttp2Server();
    const grpc = await listening(server as unknown as Server);
    const of = (port: number, protocol: string) =>
      check({
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      });
    expect(await of(grpc, 'grpc')).toEqual([expect.objectContaining({ status: 'ok' })]);
    expect(bad(await of(http, 'grpc'))).toEqual([expect.stringMatching(/^fault.* → .*http\/protobuf/)]);
    expect(bad(await of(grpc, 'http/protobuf'))).toEqual([
      expect.stringMatching(/^fault.* → .*PROTOCOL=grpc/),
    ]);
  });

  it('is at fault with a variable that is not accepted', async () => {
    expect(bad(await check({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }))).toEqual([
      expect.stringMatching(/^fault .*OTEL_EXPORTER_OTLP_ENDPOINT/),
    ]);
  });
});

describe('the machine', () => {
  it('is warned of with few open files, and with another time than the providers', () => {
    const limits = 'Max open files            1024                 1024                 files\n';
    expect(bad(checkOpenFiles(limits))).toEqual([expect.stringMatching(/^warning .*about 462 streams/)]);
    expect(bad(checkClock([-90_000, 40_000]))).toEqual([expect.stringMatching(/^warning .*40 s ahead/)]);
    expect(bad(checkClock([90_000, -500]), 'clock')).toEqual([]);
  });

  it('is warned of with more workers than cores, and not asked about a single process', () => {
    expect(bad(checkWorkers(5, 4))).toEqual([
      expect.stringMatching(/^warning .*5 processes on 4 cores take turns/),
    ]);
    expect(checkWorkers(4, 4)).toEqual([expect.objectContaining({ status: 'ok' })]);
    expect(checkWorkers(1, 4)).toEqual([]);
  });
});
