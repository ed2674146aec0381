import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { DashboardVisitor, dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { customerOf, portalSection } from '../support/portal-visitor.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
let customer: DashboardVisitor;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({
    upstream: simulator,
    config: {
      admin: dashboardAdmin(),
      portal: portalSection({ max_keys: 2, trust_proxy: true }),
      plans: { small: { requests_per_minute: 1000 } },
      accounts: { acme: { plan: 'small' }, rival: {} },
    },
  });
  customer = await customerOf(gateway);
});
afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

/** Issues a key by the form. Returns its text, and the reply that showed it. */
async function issued(visitor: DashboardVisitor, name: string): Promise<string> {
  await visitor.get('keys');
  const { location } = await visitor.post('keys', { name });
  const { text } = await visitor.get(location!);
  return /id="secret">([^<]+)</.exec(text)?.[1] ?? '';
}

const statusOf = async (key: string): Promise<number> =>
  (await gateway.post(ask('Hello?'), { headers: { authorization: `Bearer ${key}` } })).status;

describe('the portal on the public listener', () => {
  it('does not exist unless it is enabled', async () => {
    const off = await startGateway({ upstream: simulator, config: { admin: dashboardAdmin() } });
    try {
      for (const page of ['', '/', '/sign-in', '/assets/style.css']) {
        const { status, headers } = await fetch(`${off.url}/portal${page}`);
        expect([page, status, headers.get('content-type')]).toEqual([
          page,
          404,
          'application/json; charset=utf-8',
        ]);
      }
    } finally {
      await off.close();
    }
  });

  it('is on that listener only, and the dashboard on the other only', async () => {
    expect((await fetch(`${gateway.url}/portal/sign-in`)).status).toBe(200);
    expect((await fetch(`${gateway.adminUrl}/portal/sign-in`)).status).toBe(404);
    expect((await fetch(`${gateway.url}/dashboard/sign-in`)).status).toBe(404);
    const bare = await fetch(`${gateway.url}/portal`, { redirect: 'manual' });
    expect([bare.status, bare.headers.get('location')]).toEqual([303, 'portal/']);
  });

  it('leads those who are not signed in to its sign-in, and back', async () => {
    const visitor = new DashboardVisitor(`${gateway.url}/portal/`);
    expect((await visitor.get('')).location).toBe('sign-in');
    const { location } = await visitor.get('keys?all=yes');
    await visitor.get(location!);
    const next = 'keys?all=yes';
    const entered = await visitor.post('sign-in', { name: 'carla', password: operator.password, next });
    expect([entered.status, entered.location]).toEqual([303, next]);
    const { text } = await visitor.get('');
    expect(text).toContain('carla · acme');
    expect(text).not.toMatch(/(href|src|action)="\//);
    await visitor.post('sign-out', {});
    expect((await visitor.get('')).location).toBe('sign-in');
  });

  it('marks its cookies Secure behind TLS', async () => {
    const visitor = new DashboardVisitor(`${gateway.url}/portal/`);
    await visitor.get('sign-in');
    const fields = { name: 'carla', password: operator.password };
    const { headers } = await visitor.post('sign-in', fields, { 'x-forwarded-proto': 'https' });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^sluice_portal_browser=.*; HttpOnly; Secure; SameSite=Strict$/),
      expect.stringMatching(/^sluice_portal_session=[\w-]{43}; HttpOnly; Secure; SameSite=Strict$/),
    ]);
  });

  it('slows down those who guess passwords', async () => {
    const visitor = new DashboardVisitor(`${gateway.url}/portal/`);
    await visitor.get('sign-in');
    const from = { 'x-forwarded-for': '203.0.113.7' };
    const statuses: number[] = [];
    for (let tries = 0; tries < 7; tries++)
      statuses.push((await visitor.post('sign-in', { name: 'carla', password: 'wrong' }, from)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });

  it('answers a large or foreign form without reading it to its end', async () => {
    const large = await fetch(`${gateway.url}/portal/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: gateway.url },
      body: `name=${'x'.repeat(100_000)}`,
    });
    expect(large.status).toBe(413);
    const foreign = await fetch(`${gateway.url}/portal/keys`, {
      method: 'POST',
      headers: { origin: 'https://example.org' },
      body: 'x'.repeat(100_000),
      redirect: 'manual',
    });
    expect(foreign.status).toBe(303);
  });
});

describe('the limits of the listener', () => {
  it('hold four large forms of an account at the same time, beside those of others', async () => {
    const other = await customerOf(gateway, 'mallory');
    const open: Socket[] = [];
    /** A large prompt that does not arrive. */
    const post = (visitor = customer) => {
      const cookie = `sluice_portal_session=${visitor.cookies.get('sluice_portal_session')}`;
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      socket.write(
        `POST /portal/playground-run HTTP/1.1\r\nhost: x\r\norigin: http://x\r\ncookie: ${cookie}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 70000\r\nexpect: 100-continue\r\n\r\n`,
      );
      open.push(socket);
      return socket;
    };
    const statusOf = async (socket: Socket) => {
      const [data] = (await once(socket, 'data')) as [Buffer];
      return Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString())![1]);
    };
    const first = await Promise.all(Array.from({ length: 4 }, () => statusOf(post())));
    expect(first).toEqual(Array(4).fill(100));
    expect(await statusOf(post())).toBe(503);
    expect(await statusOf(post(other))).toBe(100);
    expect((await customer.get('keys')).status).toBe(200);
    for (const socket of open) socket.destroy();
    await until(async () => {
      const socket = post();
      const status = await statusOf(socket);
      socket.destroy();
      return status === 100;
    });
  });

  it('answer every page 503 while the gateway closes', async () => {
    const closing = await startGateway({ upstream: simulator, config: { portal: portalSection() } });
    await closing.gateway.close(0);
    const answer = await fetch(`${closing.url}/portal/`);
    expect([answer.status, answer.headers.get('connection'), answer.headers.get('retry-after')]).toEqual([
      503,
      'close',
      '5',
    ]);
    expect(await answer.text()).toContain('This service is shutting down.');
    await closing.close();
  });
});

describe('keys at the portal', () => {
  it('are issued, shown once, counted, rotated and revoked', async () => {
    const key = await issued(customer, 'billing');
    expect(key).toMatch(/^sk-sluice-/);
    expect(await statusOf(key)).toBe(200);
    const shown = await customer.get('keys');
    expect(shown.text).toContain('billing');
    expect(shown.text).not.toContain(key);
    await until(async () => /This month[\s\S]*<strong>1<\/strong>/.test((await customer.get('')).text));

    const [, id = ''] = /rotate\?id=(key_\w+)/.exec(shown.text) ?? [];
    await customer.get(`key?id=${id}`);
    expect((await customer.post(`key?id=${id}`, { name: 'renamed' })).location).toBe(`key?id=${id}`);
    expect((await customer.get(`key?id=${id}`)).text).toContain('renamed');
    await customer.get(`rotate?id=${id}`);
    const rotated = await customer.post(`rotate?id=${id}`, { overlap: 'day' });
    const { text } = await customer.get(rotated.location!);
    const [, second = ''] = /id="secret">([^<]+)</.exec(text) ?? [];
    expect([await statusOf(key), await statusOf(second)]).toEqual([200, 200]);

    await customer.get(`revoke?id=${id}`);
    expect((await customer.post(`revoke?id=${id}`, {})).location).toBe('keys');
    expect([await statusOf(key), await statusOf(second)]).toEqual([401, 200]);
  });

  it('are issued up to the maximum, and rotated beyond it only at once', async () => {
    await issued(customer, 'second');
    await customer.get('keys');
    const refused = await customer.post('keys', { name: 'third' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('Your account has 2 active keys, which is the most.');
    const [, id = ''] = /rotate\?id=(key_\w+)/.exec((await customer.get('keys')).text) ?? [];
    await customer.get(`rotate?id=${id}`);
    expect((await customer.post(`rotate?id=${id}`, { overlap: 'day' })).status).toBe(422);
    expect((await customer.post(`rotate?id=${id}`, { overlap: 'now' })).status).toBe(303);
  });

  it('are in the audit log with the name of the customer, who is told from an operator', async () => {
    const olga = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    await olga.signIn();
    const { text } = await olga.get('audit');
    expect(text).toMatch(/portal:carla[\s\S]*?issued the key/);
    expect(text).toMatch(/portal:carla[\s\S]*?signed in/);
  });
});
