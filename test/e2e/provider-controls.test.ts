import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Sidecar, serve } from '../../src/cli/serve.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { post } from '../support/chain-app.ts';
import { CountingUpstream } from '../support/counting-upstream.ts';
import {
  type DashboardVisitor,
  dashboardAdmin,
  operatorAt,
  password_hash,
} from '../support/dashboard-visitor.ts';
import { ask, clientKey, sumOf } from '../support/gateway-under-test.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

/** Said in the documents: a change reaches every instance within this. */
const bound_ms = 1000;

const apiKey = 'sk-admin-api-of-this-test-0123456789';

let postgres: PostgresServer;
let place: RecordsPlace;
let config: GatewayConfig;
let sidecars: Sidecar[];
const first = new CountingUpstream();
const second = new CountingUpstream();

beforeAll(async () => {
  postgres = await startPostgres();
  place = await recordsPlace(postgres.url);
  await Promise.all([first.listen(), second.listen()]);
  const providerAt = ({ url }: CountingUpstream) => ({ adapter: 'vllm', base_url: url });
  const providers = { first: providerAt(first), second: providerAt(second) };
  // Of equals, one that was slow once is not asked for half a minute.
  const upstreams = Object.keys(providers).map((provider, at) => ({
    provider,
    model: 'any',
    priority: at + 1,
  }));
  const admin_api = { enabled: true, keys: [{ name: 'ops', role: 'operator', value: apiKey }] };
  const users = { olga: { password_hash }, victor: { password_hash, role: 'viewer' } };
  const admin = dashboardAdmin({ users });
  const base = sidecarConfig(first.url, { stores: place.stores, admin, admin_api } as Partial<GatewayConfig>);
  const models = base.models.map(model => ({ ...model, upstreams }));
  config = { ...base, providers, models } as GatewayConfig;
  sidecars = await Promise.all([serve(config), serve(config)]);
});
afterAll(async () => {
  await Promise.all(sidecars.map(sidecar => sidecar.close(0)));
  await Promise.all([first.close(), second.close()]);
  await place.remove();
  await postgres.stop();
});

const send = ({ url }: Sidecar) =>
  post(`${url}/v1/chat/completions`, ask('Hello'), { authorization: `Bearer ${clientKey}` });
const providers = async (...args: string[]) => {
  const { code, stdout, stderr } = await runCommand(config, 'providers', ...args);
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  return stdout;
};

/** Statuses of requests to all instances in turn, from now until the returned function is called. */
function load(): () => Promise<number[]> {
  const replies: Promise<number>[] = [];
  const timer = setInterval(
    () => replies.push(send(sidecars[replies.length % 2]!).then(({ status }) => status)),
    20,
  );
  return () => {
    clearInterval(timer);
    return Promise.all(replies);
  };
}

/** Whether `upstream` is asked by requests that begin now. */
async function isAsked(upstream: CountingUpstream): Promise<boolean> {
  const before = upstream.requests;
  for (let count = 0; count < 6; count++)
    for (const sidecar of sidecars) await (await send(sidecar)).arrayBuffer();
  return upstream.requests > before;
}

const stateAt = async ({ gateway }: Sidecar) => (await gateway.providers.get('first'))!.control;

it('drains a provider under load at every instance within a second, over a restart, and until it is resumed', async () => {
  const end = load();
  await until(() => first.requests > 5);
  await providers('drain', 'first', '--reason', 'new cards');
  const states = () => Promise.all(sidecars.map(stateAt));
  await until(async () => (await states()).every(control => control?.state === 'draining'), bound_ms);
  expect(new Set(await end())).toEqual(new Set([200]));
  const drained = first.requests;
  const left = second.requests;
  const endAgain = load();
  await until(() => second.requests > left + 30);
  expect(new Set(await endAgain())).toEqual(new Set([200]));
  expect(first.requests).toBe(drained);
  expect(await providers('list')).toMatch(/first +draining +new cards +cli:/);

  await sidecars[0]!.close(0);
  sidecars[0] = await serve(config);
  // Before it has served anything.
  expect(await stateAt(sidecars[0])).toMatchObject({ state: 'draining' });
  expect(await isAsked(first)).toBe(false);
  const metrics = await (await fetch(`${sidecars[0].adminUrl}/metrics`)).text();
  const gauge = 'sluice_provider_control{sluice_provider="first",state="draining"}';
  expect(
    sumOf(
      metrics
        .split('\n')
        .filter(line => line.startsWith(gauge))
        .join('\n'),
      'sluice_provider_control',
    ),
  ).toBe(1);

  await providers('resume', 'first');
  await until(() => isAsked(first), bound_ms);
});

it('ends a pause at its time, and refuses clearly what no provider may serve', async () => {
  await providers('pause', 'second');
  await providers('pause', 'first');
  const statuses = () => Promise.all(sidecars.map(async sidecar => (await send(sidecar)).status));
  await until(async () => (await statuses()).every(status => status === 502), bound_ms);
  const refused = await send(sidecars[0]!);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([502, '30']);
  const text = await refused.text();
  expect(JSON.parse(text)).toMatchObject({ error: { type: 'server_error' } });
  expect(text).not.toMatch(/first|second/);
  const until_ms = Date.now() + 1000;
  await providers('pause', 'first', '--until', new Date(until_ms).toISOString());
  await until(async () => (await statuses()).includes(200), 2500);
  expect(Date.now()).toBeGreaterThanOrEqual(until_ms);
  expect(await isAsked(second)).toBe(false);
  await providers('resume', 'second');
  const audit = await runCommand(config, 'audit', '--action', 'provider', '--format', 'json');
  const entries = JSON.parse(audit.stdout) as { target: string; detail: string }[];
  expect(entries.map(({ target, detail }) => `${target} ${JSON.parse(detail).state}`).reverse()).toEqual([
    'first draining',
    'first active',
    'second paused',
    'first paused',
    'first paused',
    'second active',
  ]);
});

it('takes a provider out of service in code and over the Admin API, for all to see', async () => {
  const [here, there] = sidecars as [Sidecar, Sidecar];
  const control = `${here.adminUrl}/admin-api/v1/providers/first/control`;
  const ask = async (method: string, body?: object, url = control) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const reply = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return [reply.status, (await reply.json()) as object] as const;
  };
  await there.gateway.providers.weight('first', 2.5, { actor: 'autoscaler', reason: 'half the cards' });
  await until(async () => (await stateAt(here)) !== undefined, bound_ms);
  const set = {
    state: 'active',
    weight: 2.5,
    until: null,
    reason: 'half the cards',
    actor: 'autoscaler',
  };
  expect(await ask('GET')).toEqual([200, expect.objectContaining(set)]);
  const paused = { state: 'paused', until: '2099-01-01T00:00:00+01:00' };
  const answer = { state: 'paused', weight: null, until: '2098-12-31T23:00:00.000Z', reason: '' };
  expect(await ask('PUT', paused)).toEqual([200, expect.objectContaining(answer)]);
  await until(async () => !(await isAsked(first)), bound_ms);
  for (const [body, status] of [
    [{ state: 'paused', weight: 1 }, 400],
    [{ state: 'active' }, 400],
    [{ state: 'paused', until: '2001-01-01T00:00:00Z' }, 400],
  ] as const)
    expect((await ask('PUT', body))[0]).toBe(status);
  expect((await ask('PUT', paused, control.replace('first', 'third')))[0]).toBe(404);
  expect(await ask('DELETE')).toEqual([200, expect.objectContaining({ state: 'active', actor: null })]);
  expect(await here.gateway.providers.resume('first')).toBe(false);
  await expect(here.gateway.providers.pause('third')).rejects.toThrow("no provider 'third'");
});

it('is a form of the dashboard, for those who may change something', async () => {
  const [here] = sidecars as [Sidecar];
  const [olga, victor] = (await Promise.all(['olga', 'victor'].map(name => operatorAt(here, name)))) as [
    DashboardVisitor,
    DashboardVisitor,
  ];
  const page = 'provider?name=first';
  expect((await olga.get('providers')).text).toContain('href="provider?name=first&amp;since=hour"');
  const { text } = await olga.get(page);
  const seen = /name="seen" value="([^"]*)"/.exec(text)![1]!;
  const fields = { change: 'pause', end: 'in 4 h', reason: '<b>cards</b>', seen };
  expect((await olga.post(page, { ...fields, end: 'never' })).status).toBe(422);
  expect((await olga.post(page, { ...fields, change: 'weight', weight: 'x' })).status).toBe(422);
  expect((await olga.post(page, fields)).location).toBe(page);
  expect(await stateAt(here)).toMatchObject({ state: 'paused', reason: '<b>cards</b>', actor: 'olga' });
  const shown = await olga.get(page);
  expect(shown.text).toMatch(/paused by operators<.*until .*&lt;b&gt;cards/s);
  expect((await olga.get('providers')).text).toMatch(/paused by operators<[^>]*> <[^>]*>until/);
  expect((await olga.post(page, { ...fields, change: 'drain' })).status).toBe(409);
  await victor.get('providers');
  expect((await victor.get('providers')).text).not.toContain('name="change"');
  expect((await victor.get(page)).text).not.toContain('name="change"');
  expect((await victor.post(page, { ...fields, change: 'resume' })).status).toBe(403);
  const weight = { change: 'weight', weight: '1 000', end: 'in 60 min' };
  const before = /name="seen" value="([^"]*)"/.exec((await olga.get(page)).text)![1]!;
  expect((await olga.post(page, { ...weight, seen: before })).location).toBe(page);
  expect(await stateAt(here)).toMatchObject({ state: 'active', weight: 1000, until_ms: expect.any(Number) });
  const now = /name="seen" value="([^"]*)"/.exec((await olga.get(page)).text)![1]!;
  await olga.post(page, { change: 'resume', seen: now });
  expect(await stateAt(here)).toBeUndefined();
});

it.each([
  [['pause', 'frist'], 1, "there is no provider 'frist'; did you mean 'first'?"],
  [['weight', 'first', 'many'], 2, 'a weight is a number from 0 to 1000000'],
  [['drain', 'first', '--for', '2x'], 2, "--for: '2x' is no time"],
  [['drain', 'first', '--for', '2h', '--until', '2099-01-01'], 2, 'not both'],
])('refuses sluice providers %j', async (args, code, message) => {
  const finished = await runCommand(config, 'providers', ...args);
  expect([finished.code, finished.stderr]).toEqual([code, expect.stringContaining(message)]);
});
