import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { post } from '../support/chain-app.ts';
import { type ExampleProcess, startExample, stopExamples } from '../support/example-process.ts';
import { freePort } from '../support/free-port.ts';
import { completion } from '../support/hostile-setting.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { endServed, type SidecarHere, serveFileHere } from '../support/sidecar-here.ts';
import { until } from '../support/until.ts';

const usage = { prompt_tokens: 60, completion_tokens: 20, total_tokens: 80 };
let postgres: PostgresServer;
let redis: RedisServer;
let upstream: ScriptedUpstream;
let directory: string;
let instances: readonly SidecarHere[];
let service: ExampleProcess;

beforeAll(async () => {
  [postgres, redis, upstream, directory] = await Promise.all([
    startPostgres(),
    startRedis(),
    startScriptedUpstream(whole(200, completion('Hello.', {}, { usage }))),
    mkdtemp(join(tmpdir(), 'sluice-sign-up-')),
  ]);
  const port = String(await freePort());
  const secrets = {
    SLUICE_ADMIN_KEY: 'key-of-the-sign-up-0123456789-0123456789',
    NOTICES_SECRET: `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
  };
  Object.assign(process.env, secrets, {
    UPSTREAM_URL: upstream.url,
    RECORDS: postgres.url,
    STATE: redis.url,
    SIGN_UP_URL: `http://127.0.0.1:${port}`,
  });
  const text = await readFile('examples/sign-up/sluice.yaml', 'utf8');
  const file = join(directory, 'sluice.yaml');
  await writeFile(file, `${text}server: { port: 0, unready_ms: 0 }\nadmin: { port: 0 }\n`);
  instances = [await serveFileHere(file), await serveFileHere(file)];
  // A request costs 0.01.
  const environment = { ...secrets, SLUICE_URL: instances[0]!.adminUrl, PORT: port, FREE_USD: '0.05' };
  service = await startExample(['examples/sign-up/server.ts'], environment);
});
afterAll(async () => {
  await stopExamples();
  await endServed();
  await Promise.all([postgres.stop(), redis.stop(), upstream.close(), rm(directory, { recursive: true })]);
});

const told = () => service.output().match(/^to .*$/gm) ?? [];

it('signs people up, tells them once before their credit is used, refuses them then everywhere, and takes payments', async () => {
  const ask = async (path: string, body: object) => {
    const reply = await post(`${service.url}${path}`, body);
    return { status: reply.status, body: (await reply.json()) as Record<string, string> };
  };
  const { status, body } = await ask('/sign-up', { name: 'ann', mail: 'ann@example.com' });
  expect([status, body.credit_usd]).toEqual([201, '0.05']);
  expect((await ask('/sign-up', { name: 'ann', mail: 'eve@example.com' })).status).toBe(409);
  let sent = 0;
  const chat = async () => {
    const reply = await post(
      `${instances[sent++ % 2]!.url}/v1/chat/completions`,
      { model: 'acme/small', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 20 },
      { authorization: `Bearer ${body.key}` },
    );
    await reply.text();
    return reply.status;
  };
  expect([await chat(), await chat(), await chat()]).toEqual([200, 200, 200]);
  expect(told()).toEqual([]);
  expect(await chat()).toBe(200);
  await until(() => told().length > 0, 5000);
  expect([await chat(), await chat()]).toEqual([429, 429]);
  const paid = ['0.01', '0.02'].map(usd => ask('/top-up', { account: 'ann', usd }));
  expect(
    (await Promise.all(paid))
      .map(answer => answer.body.credit_usd)
      .sort()
      .at(-1),
  ).toBe('0.080000');
  await until(async () => (await chat()) === 200, 5000);
  expect(told()).toEqual(['to ann: 0.01 of 0.05 dollars are left']);
  const forged = {
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': 'v1,AAAA',
  };
  expect((await post(`${service.url}/notices`, {}, forged)).status).toBe(401);
});
