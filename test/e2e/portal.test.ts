import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { portalPages } from '../../plugins/dashboard/portal/index.ts';
import type { AccountAnswer, GatewayOptions } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  customerOf,
  DashboardVisitor,
  dashboardAdmin,
  formFields,
  operator,
  operatorAt,
  portalSection,
  type Visited,
} from '../support/dashboard-visitor.ts';
import { startApp } from '../support/express-app.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type ForgingProvider, startForgingProvider } from '../support/forging-provider.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { until } from '../support/until.ts';

/** The portal: where it is, who is let in, what they see of others, invitations and passwords, and keys. */

const day_ms = 86_400_000;
const unused = 'http://127.0.0.1:9/v1';
let simulator: Simulator;
let provider: ForgingProvider;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
/** Of the account acme, which must not be seen by others. */
let customer: DashboardVisitor;
let mallory: DashboardVisitor;
let olga: DashboardVisitor;
/** Key and request of acme, and what names them or is in them. */
let key_id: string;
const request_id = 'request-of-acme-0001';
const secrets: string[] = [];
const names = portalPages.map(({ name }) => name);

/** Of every instance. */
const configuration = () => ({
  upstream: simulator,
  config: {
    admin: dashboardAdmin(),
    portal: portalSection({
      max_keys: 4,
      trust_proxy: true,
      oidc: {
        issuer: provider.issuer,
        client_id: 'portal',
        accounts: { 'anna@example.com': 'acme' },
        account_claim: 'tenant.id',
      },
    }),
    plans: { 'plan-of-acme': { requests_per_minute: 1234 } },
    accounts: { acme: { plan: 'plan-of-acme' }, rival: {}, unused: {} },
    stores: place.stores,
  },
});

beforeAll(async () => {
  [simulator, provider, place] = await Promise.all([
    startSimulator(),
    startForgingProvider('portal'),
    recordsPlace(),
  ]);
  gateway = await startGateway(configuration());
  customer = await customerOf(gateway);
  const { location } = await customer.submit('keys', { name: 'name-of-acme' });
  const key = await customer.secretAt(location);
  key_id = /id=(key_\w+)/.exec(location!)![1]!;
  const headers = { authorization: `Bearer ${key}`, 'x-request-id': request_id };
  await gateway.post(ask('Hello?'), { headers });
  await until(async () => (await customer.get(`request?id=${request_id}`)).status === 200);
  secrets.push('acme', 'carla', 'name-of-acme', key, key.slice(-4));
  mallory = await customerOf(gateway, 'mallory');
  olga = await operatorAt(gateway);
}, 60_000);
afterAll(async () => {
  await closeMounted();
  await gateway?.close();
  await Promise.all([simulator, provider].map(one => one?.close()));
  await place?.remove();
});

const stranger = (at = gateway) => new DashboardVisitor(`${at.url}/portal/`);
const forwardedFor = (address: string) => ({ 'x-forwarded-for': address });

describe('the portal on the public listener', () => {
  it('does not exist unless it is enabled', async () => {
    const off = await startGateway({ upstream: simulator, config: { admin: dashboardAdmin() } });
    for (const page of ['', '/', '/sign-in', '/assets/style.css']) {
      const { status, headers } = await fetch(`${off.url}/portal${page}`);
      const type = headers.get('content-type');
      expect([page, status, type]).toEqual([page, 404, 'application/json; charset=utf-8']);
    }
    await off.close();
  });

  it('is on that listener only, and the dashboard on the other only', async () => {
    expect((await fetch(`${gateway.url}/portal/sign-in`)).status).toBe(200);
    expect((await fetch(`${gateway.adminUrl}/portal/sign-in`)).status).toBe(404);
    expect((await fetch(`${gateway.url}/dashboard/sign-in`)).status).toBe(404);
    const bare = await fetch(`${gateway.url}/portal`, { redirect: 'manual' });
    expect([bare.status, bare.headers.get('location')]).toEqual([303, 'portal/']);
  });

  it('leads those who are not signed in to its sign-in, and back', async () => {
    const visitor = stranger();
    expect((await visitor.get('')).location).toBe('sign-in');
    const { location } = await visitor.get('keys?all=yes');
    await visitor.get(location!);
    const next = 'keys?all=yes';
    const fields = { name: 'carla', password: operator.password, next };
    const entered = await visitor.post('sign-in', fields, { 'x-forwarded-proto': 'https' });
    expect([entered.status, entered.location]).toEqual([303, next]);
    // Behind TLS they are Secure.
    expect(entered.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^sluice_portal_browser=.*; HttpOnly; Secure; SameSite=Strict$/),
      expect.stringMatching(/^sluice_portal_session=[\w-]{43}; HttpOnly; Secure; SameSite=Strict$/),
    ]);
    const { text } = await visitor.get('');
    expect(text).toContain('carla · acme');
    expect(text).not.toMatch(/(href|src|action)="\//);
    await visitor.post('sign-out', {});
    expect((await visitor.get('')).location).toBe('sign-in');
  });

  it.each([
    ['sign-in', `name=${'x'.repeat(100_000)}`, undefined, 413],
    ['keys', 'x'.repeat(100_000), 'https://example.org', 303],
  ])(
    'answers a large or foreign form without reading it to its end: %s',
    async (page, body, from, status) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: from ?? gateway.url };
      const sent = { method: 'POST', headers, body, redirect: 'manual' } as const;
      expect((await fetch(`${gateway.url}/portal/${page}`, sent)).status).toBe(status);
    },
  );

  it('holds four large forms of an account at the same time, beside those of others', async () => {
    const open: Socket[] = [];
    /** The status of a large prompt that does not arrive: 100 while it is waited for. */
    const post = async (visitor = customer) => {
      const cookie = `sluice_portal_session=${visitor.cookies.get('sluice_portal_session')}`;
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      socket.write(
        `POST /portal/playground-run HTTP/1.1\r\nhost: x\r\norigin: http://x\r\ncookie: ${cookie}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 70000\r\nexpect: 100-continue\r\n\r\n`,
      );
      open.push(socket);
      const [data] = (await once(socket, 'data')) as [Buffer];
      return Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString())![1]);
    };
    expect(await Promise.all(Array.from({ length: 4 }, () => post()))).toEqual(Array(4).fill(100));
    expect([await post(), await post(mallory)]).toEqual([503, 100]);
    expect((await customer.get('keys')).status).toBe(200);
    for (const socket of open) socket.destroy();
    await until(async () => {
      const status = await post();
      open.at(-1)!.destroy();
      return status === 100;
    });
  });

  it('answers every page 503 while the gateway closes', async () => {
    const closing = await startGateway({ upstream: simulator, config: { portal: portalSection() } });
    await closing.gateway.close(0);
    const reply = await fetch(`${closing.url}/portal/`);
    const headers = ['connection', 'retry-after'].map(name => reply.headers.get(name));
    expect([reply.status, ...headers]).toEqual([503, 'close', '5']);
    expect(await reply.text()).toContain('This service is shutting down.');
    await closing.close();
  });
});

describe('sign-in at the portal by OpenID', () => {
  async function signedIn(claims: object): Promise<{ status: number; visitor: DashboardVisitor }> {
    const visitor = stranger();
    const { location } = await visitor.get('sign-in-oidc');
    provider.forgery = { claims: { email_verified: true, ...claims } };
    const { status } = await visitor.get(`sign-in-callback?${provider.comeBack(location!)}`);
    return { status, visitor };
  }
  const email = 'eve@example.com';

  it('is offered beside passwords', async () => {
    const { text } = await stranger().get('sign-in');
    expect([text.includes('href="sign-in-oidc"'), text.includes('name="password"')]).toEqual([true, true]);
  });

  it('shows the account of the name, or that of the claim, and is worth nothing at the dashboard', async () => {
    const named = await signedIn({ email: 'Anna@example.com', tenant: { id: 'rival' } });
    expect((await named.visitor.get('')).text).toContain('acme');
    const claimed = await signedIn({ email: 'rita@example.com', tenant: { id: 'rival' } });
    const { text } = await claimed.visitor.get('');
    expect(text).toContain('rival');
    expect(text).not.toContain('acme');
    const dashboard = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    dashboard.cookies.set('sluice_session', named.visitor.cookies.get('sluice_portal_session')!);
    expect((await dashboard.get('keys')).status).toBe(303);
    expect((await dashboard.get('sign-in-oidc')).status).toBe(404);
  });

  it.each<[string, object, number[]]>([
    ['no account', { email }, [403, 303]],
    ['several', { email, tenant: { id: ['acme', 'rival'] } }, [403, 303]],
    ['one without a name', { email, tenant: { id: '' } }, [403, 303]],
    ['one that does not exist', { email, tenant: { id: 'gone' } }, [200, 403]],
  ])('shows nothing to somebody with %s', async (_, claims, expected) => {
    const { status, visitor } = await signedIn(claims);
    expect([status, (await visitor.get('keys')).status]).toEqual(expected);
  });
});

/** All that the store has of the other account, and the audit log. */
const stateOfVictim = () =>
  place.look(async store => [
    await store.keys.list({ account: 'acme', limit: 50 }),
    await store.customers.list('acme'),
    await store.audit.count(),
  ]);

/** Every parameter by which a page could be made to show another account. */
const forged = (id: string): string =>
  `${new URLSearchParams({ id, account: 'acme', key: key_id, customer: 'carla', search: 'acme', by: 'key' })}&by=account`;

/** A page without what was asked with, which is said again in fields and links. */
const unasked = (text: string): string =>
  text
    .replaceAll(key_id, '')
    .replaceAll(request_id, '')
    .replaceAll(/value="(acme|carla)"|(account|customer|search)=(acme|carla)/g, '');

/** A reply without what differs with every request. */
const comparable = ({ status, text, headers }: Visited): object => ({
  status,
  text: text
    .replaceAll(/name="(?:form_token|nonce)" value="[^"]*"/g, '')
    .replaceAll(/(?:key_\w+|request-of-\w+-\d+|unknown-\w+)/g, 'ID'),
  headers: [...headers].filter(([name]) => !['date', 'content-length', 'set-cookie'].includes(name)),
});

describe('a customer at the portal', () => {
  it('sees nothing of another account on any page, whatever ids the address has', async () => {
    for (const name of names)
      for (const id of [key_id, request_id, 'acme', 'carla']) {
        const { text, status } = await mallory.get(`${name}?${forged(id)}`);
        const seen = secrets.filter(secret => unasked(text).includes(secret) && secret !== id);
        expect([name, id, status < 500, seen]).toEqual([name, id, true, []]);
      }
  });

  it('gets the same answer for the key and the request of another account as for none', async () => {
    for (const name of names) {
      const other = [key_id, request_id].map(id => mallory.get(`${name}?id=${id}`));
      const unknown = ['key_unknown', 'unknown-request'].map(id => mallory.get(`${name}?id=${id}`));
      const [one, two, three, four] = (await Promise.all([...other, ...unknown])).map(comparable);
      expect([name, one, two]).toEqual([name, three, four]);
    }
  });

  it('changes nothing of another account with any form, whatever ids and accounts it has', async () => {
    await mallory.get('keys');
    const before = await stateOfVictim();
    const fields = {
      id: key_id,
      account: 'acme',
      customer: 'carla',
      change: 'remove',
      overlap: 'now',
      password: 'a long new password',
      repeated_password: 'a long new password',
    };
    // A new key is one of their own account.
    for (const name of names.filter(page => page !== 'keys')) {
      const { text, status } = await mallory.post(`${name}?${forged(key_id)}`, fields);
      const seen = secrets.filter(secret => unasked(text).includes(secret));
      // An answer of the API, which refuses the missing key, is relayed as events.
      const isRefused =
        name === 'playground-run' ? text.includes('"status":4') : status >= 400 && status < 500;
      expect([name, isRefused, seen]).toEqual([name, true, []]);
    }
    expect(await stateOfVictim()).toEqual(before);
    await mallory.get('keys');
    const issued = await mallory.post('keys?account=acme', { ...fields, name: 'of rival' });
    expect(issued.status).toBe(303);
    expect((await stateOfVictim())[0]).toEqual(before[0]);
    expect((await mallory.get('keys')).text).toContain('of rival');
  });

  it('cannot send a form with the token of another customer, nor one from another site', async () => {
    await customer.get('keys');
    await mallory.get('keys');
    const { nonce } = mallory;
    for (const name of names) {
      const stolen = await mallory.post(name, { form_token: customer.token, nonce });
      const foreign = await mallory.post(name, {}, { origin: 'https://example.org' });
      expect([name, stolen.status, foreign.status]).toEqual([name, 403, 403]);
    }
  });

  it('revokes several keys at once, and none if one of them is of another account', async () => {
    const { location } = await mallory.submit('keys', { name: 'beside another' });
    const own = new URLSearchParams(location!.split('?')[1]).get('id')!;
    const revoke = (...id: string[]) => mallory.post('keys', { change: 'revoke', id });
    expect((await revoke(own, key_id)).status).toBe(404);
    expect((await mallory.get('keys')).text).toContain(own);
    expect((await revoke(own, own)).location).toBe('keys');
    expect((await mallory.get('keys?search=beside')).text).not.toContain(own);
  });

  it('sees the own request also while another account uses its id again and again', async () => {
    const { location } = await mallory.submit('keys', { name: 'again' });
    const key = await mallory.secretAt(location);
    const headers = { authorization: `Bearer ${key}`, 'x-request-id': request_id };
    const again = () => gateway.post(ask('Mine!'), { headers }).then(reply => reply.text());
    for (let at = 0; at < 5; at++) await Promise.all(Array.from({ length: 21 }, again));
    await until(() =>
      place.look(async store => (await store.ledger.find(request_id, 'rival')).length === 100),
    );
    const { text } = await customer.get(`playground-record?id=${request_id}`);
    expect(JSON.parse(text)).toMatchObject({ account: 'acme' });
    expect((await customer.get(`request?id=${request_id}`)).status).toBe(200);
  });

  it('sees nothing that is internal of the own requests', async () => {
    for (const page of [
      `request?id=${request_id}`,
      'requests',
      `playground-record?id=${request_id}`,
      'usage',
      'usage?by=provider&provider=upstream',
      'usage?by=account&account=rival',
      'usage?by=key',
      'models',
      'model?id=aion-labs/aion-3.5',
      '',
    ]) {
      const { status, text } = await customer.get(page);
      expect([
        page,
        status,
        /provider(?!_)|upstream(?!_)|vllm|127\.0\.0\.1|onHeaders/i.exec(text.replace('"provider":null', '')),
      ]).toEqual([page, 200, null]);
    }
    const exported = async (query: string) => (await customer.get(`usage-csv?${query}`)).status;
    expect(await Promise.all(['by=key&by=day', 'by=provider', 'by=account'].map(exported))).toEqual([
      200, 422, 422,
    ]);
  });
});

describe('the areas of operators and customers', () => {
  it('take no session of each other', async () => {
    const asOperator = stranger();
    const asCustomer = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    for (const cookie of ['sluice_session', 'sluice_portal_session']) {
      asOperator.cookies.set(cookie, olga.cookies.get('sluice_session')!);
      asCustomer.cookies.set(cookie, customer.cookies.get('sluice_portal_session')!);
    }
    const ofDashboard = ['', 'accounts', 'keys', 'audit', 'account?id=acme', `key?id=${key_id}`];
    for (const [visitor, pages] of [
      [asOperator, names],
      [asCustomer, ofDashboard],
    ] as const)
      for (const name of pages)
        expect([name, (await visitor.get(name)).location]).toEqual([name, expect.stringMatching(/^sign-in/)]);
  });

  it('take no password of each other', async () => {
    expect((await stranger().signIn()).status).toBe(401);
    expect(
      (await new DashboardVisitor(`${gateway.adminUrl}/dashboard/`).signIn(undefined, 'carla')).status,
    ).toBe(401);
  });

  it('end the sessions of a removed customer at every instance', async () => {
    const other = await startGateway(configuration());
    await olga.get('people?account=unused');
    const { location } = await olga.post('people?account=unused', { change: 'invite', customer: 'ute' });
    const token = (await olga.secretAt(location)).split('token=')[1]!;
    const ute = stranger();
    await ute.get(`invitation?token=${token}`);
    const password = 'a long new password';
    await ute.post('invitation', { token, password, repeated_password: password });
    const there = ute.movedTo(`${other.url}/portal/`);
    expect((await there.get('keys')).status).toBe(200);
    await olga.get('people?account=unused');
    await olga.post('people?account=unused', { change: 'remove', customer: 'ute' });
    expect((await there.get('keys')).location).toMatch(/^sign-in/);
    await other.close();
  });
});

describe('every page of the portal', () => {
  it('asks those who are not signed in to do so', async () => {
    const visitor = stranger();
    for (const name of names) {
      expect([name, (await visitor.get(name)).location]).toEqual([name, expect.stringMatching(/^sign-in/)]);
      expect([name, (await visitor.post(name, {})).status]).toEqual([name, 401]);
    }
  });

  it('escapes names, models and ids', async () => {
    const xss = '<script>alert("x")</script>';
    await mallory.submit('keys', { name: xss });
    await mallory.submit('keys', { name: xss, expires: xss });
    for (const name of names) {
      const asked = ['id', 'model', 'key', 'code', 'since', 'from', 'show', 'by'].map(
        field => [field, xss] as const,
      );
      const query = new URLSearchParams(Object.fromEntries(asked));
      const { text } = await mallory.get(`${name}?${query}`);
      expect([name, text.includes('<script>')]).toEqual([name, false]);
    }
    expect((await mallory.get('history')).text).toContain('&lt;script&gt;');
  });

  it('shows whose key it is that is pasted into a search to nobody else, and puts it into no address', async () => {
    const key = secrets.find(secret => secret.startsWith('sk-'))!;
    for (const [visitor, expected] of [
      [customer, `key?id=${key_id}&do=revoke`],
      [mallory, undefined],
    ] as const) {
      const { text } = await visitor.get('requests');
      expect(text).not.toContain('method="get"');
      visitor.nonce = '';
      const sent = await visitor.post('find', { page: 'requests', key });
      expect([sent.location, sent.text.includes(key)]).toEqual([expected, false]);
    }
    const model = 'aion-labs/aion-2.0';
    const named = await mallory.post('find', { page: 'usage', model });
    expect(named.location).toBe(`usage?${new URLSearchParams({ model })}`);
    expect((await mallory.post('find', { page: 'accounts', search: 'x' })).status).toBe(400);
  });
});

describe('keys at the portal', () => {
  /** Issues a key by the form. */
  async function issued(name: string): Promise<string> {
    return customer.secretAt((await customer.submit('keys', { name })).location);
  }
  const statusOf = async (key: string): Promise<number> =>
    (await gateway.post(ask('Hello?'), { headers: { authorization: `Bearer ${key}` } })).status;
  const idOfNewest = async () => /id=(key_\w+)&amp;do=rotate/.exec((await customer.get('keys')).text)![1]!;

  it('are issued, shown once, counted, rotated and revoked', async () => {
    const key = await issued('billing');
    expect(key).toMatch(/^sk-sluice-/);
    expect(await statusOf(key)).toBe(200);
    const shown = await customer.get('keys');
    expect(shown.text).toContain('billing');
    expect(shown.text).not.toContain(key);
    await until(async () => /<dt>Requests<[\s\S]*?<strong>2<\/strong>/.test((await customer.get('')).text));

    const id = await idOfNewest();
    expect((await customer.submit(`key?id=${id}`, { name: 'renamed' })).location).toBe(`key?id=${id}`);
    expect((await customer.get(`key?id=${id}`)).text).toContain('renamed');
    const rotated = await customer.submit(`key?id=${id}`, { change: 'rotate', overlap: 'day' });
    const second = await customer.secretAt(rotated.location);
    expect([await statusOf(key), await statusOf(second)]).toEqual([200, 200]);

    expect((await customer.submit(`key?id=${id}`, { change: 'revoke' })).location).toBe(`key?id=${id}`);
    expect([await statusOf(key), await statusOf(second)]).toEqual([401, 200]);
  });

  it('are issued up to the maximum, and rotated beyond it only at once', async () => {
    for (const name of ['second', 'third']) await issued(name);
    const refused = await customer.submit('keys', { name: 'one more' });
    expect(refused).toMatchObject({
      status: 422,
      text: expect.stringContaining('Your account has 4 active keys, which is the most.'),
    });
    const rotate = async (overlap: string) =>
      (await customer.submit(`key?id=${await idOfNewest()}`, { change: 'rotate', overlap })).status;
    expect([await rotate('day'), await rotate('now')]).toEqual([422, 303]);
  });

  it('are in the audit log with the name of the customer, who is told from an operator', async () => {
    const { text } = await olga.get('audit');
    expect(text).toMatch(/portal:carla[\s\S]*?issued the key/);
    expect(text).toMatch(/portal:carla[\s\S]*?signed in/);
  });
});

describe('an invitation to the portal', () => {
  const password = 'a long new password';
  const clock = new FakeClock();
  let own: GatewayUnderTest;
  let admin: DashboardVisitor;

  beforeAll(async () => {
    own = await startGateway({
      upstream: unused,
      config: {
        admin: dashboardAdmin({ session_idle_ms: 100 * day_ms, session_max_ms: 100 * day_ms }),
        portal: portalSection({ trust_proxy: true }),
        accounts: { acme: {}, rival: {} },
      },
      options: { clock },
    });
    admin = await operatorAt(own);
  });
  afterAll(() => own?.close());

  const account = async (id = 'acme') => (await admin.get(`people?account=${id}`)).text;
  const change = (fields: object, of = 'acme') => admin.post(`people?account=${of}`, { ...fields });
  const signIn = async (name: string, word = password) => {
    const visitor = stranger(own);
    return { visitor, ...(await visitor.signIn(word, name)) };
  };

  /** Invites a person. Returns the path of the invitation below the portal, with its token. */
  async function invited(name: string, of = 'acme'): Promise<string> {
    await account(of);
    const { location } = await change({ change: 'invite', customer: name }, of);
    const link = await admin.secretAt(location);
    expect(link).toMatch(new RegExp(`^${own.url}/portal/invitation\\?token=[\\w-]{43}$`));
    expect((await admin.get(location!)).text).not.toContain(link);
    return link.slice(`${own.url}/portal/`.length);
  }
  const fieldsFor = (path: string, words: object = {}) => ({
    token: path.split('=')[1]!,
    password,
    repeated_password: password,
    ...words,
  });
  async function accepted(path: string, words: object = {}) {
    const visitor = stranger(own);
    await visitor.get('sign-in');
    await visitor.get(path);
    return { visitor, reply: await visitor.post('invitation', fieldsFor(path, words)) };
  }

  it('lets its customer choose a password and in, once', async () => {
    const path = await invited('Cora@example.org');
    const { visitor, reply } = await accepted(path);
    expect([reply.status, reply.location]).toEqual([303, '.']);
    expect((await visitor.get('')).text).toContain('Cora@example.org · acme');
    expect((await stranger(own).get(path)).status).toBe(404);
    const other = `${password}!`;
    expect((await accepted(path, { password: other, repeated_password: other })).reply.status).toBe(404);
    expect((await signIn('cora@EXAMPLE.org')).location).toBe('.');
    expect(await account()).toContain('Cora@example.org');
    const { text } = await admin.get('audit');
    expect(text).toMatch(/portal:Cora@example.org[\s\S]*accepted an invitation/);
    expect(text).not.toContain(path.split('=')[1]);
  });

  it.each([
    [{ password: 'short', repeated_password: 'short' }, 'it must have at least 12'],
    [{ repeated_password: 'another password' }, 'The two passwords are not the same.'],
  ])('asks for a password of 12 characters, twice the same: %j', async (words, said) => {
    const path = await invited('sven');
    const { reply } = await accepted(path, words);
    expect(reply).toMatchObject({ status: 422, text: expect.stringContaining(said) });
  });

  it('ends after seven days, and when the customer is invited again', async () => {
    const first = await invited('nils');
    const second = await invited('nils');
    expect((await stranger(own).get(first)).status).toBe(404);
    clock.advance(7 * day_ms - 1000);
    expect((await stranger(own).get(second)).status).toBe(200);
    clock.advance(1000);
    expect((await stranger(own).get(second)).status).toBe(404);
    expect((await signIn('nils')).status).toBe(401);
  });

  it('cannot be guessed, and tells nothing of one that has ended', async () => {
    const used = await invited('paula');
    await accepted(used);
    const answers: Visited[] = [];
    const guesses = ['invitation', ...Array(4).fill('invitation?token=y')];
    for (const path of [used, `invitation?token=${'x'.repeat(43)}`, ...guesses])
      answers.push(await stranger(own).get(path, forwardedFor('203.0.113.9')));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 429, 429]);
    expect(new Set(answers.slice(0, 5).map(({ text }) => text)).size).toBe(1);
  });

  it('can be accepted while strangers at the same address guess others', async () => {
    const path = await invited('vera');
    const from = forwardedFor('203.0.113.10');
    const guess = () => stranger(own).get('invitation?token=y', from);
    const guessed = await Promise.all(Array.from({ length: 30 }, guess));
    expect(guessed.at(-1)!.status).toBe(429);
    expect((await stranger(own).get(path, from)).status).toBe(200);
    expect((await accepted(path)).reply.status).toBe(303);
  });

  it('is accepted once of many times together, of which few are waited for', async () => {
    const path = await invited('many');
    const visitor = stranger(own);
    await visitor.get(path);
    const accept = () => visitor.post('invitation', fieldsFor(path));
    const answers = await Promise.all(Array.from({ length: 24 }, accept));
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect(statuses.get(303)).toHaveLength(1);
    expect(statuses.get(503)!.length).toBeGreaterThan(0);
    expect([...statuses.keys()].filter(status => ![303, 404, 503].includes(status))).toEqual([]);
  });

  it('needs the form of its own page', async () => {
    const path = await invited('zoe');
    expect((await stranger(own).post('invitation', fieldsFor(path))).status).toBe(403);
    const visitor = stranger(own);
    await visitor.get(path);
    const foreign = { origin: 'https://example.org' };
    expect((await visitor.post('invitation', fieldsFor(path), foreign)).status).toBe(403);
    expect((await accepted(path)).reply.status).toBe(303);
  });

  it('is refused for a name that is taken, in any case, and for an account that is not there', async () => {
    await invited('rita', 'rival');
    for (const name of ['Rita', 'CARLA', '', 'x'.repeat(129)]) {
      await account();
      const refused = await change({ change: 'invite', customer: name });
      expect([name, refused.status]).toEqual([name, 422]);
    }
    expect(await account()).not.toContain('Rita');
    expect((await change({ change: 'invite', customer: 'x' }, 'nobody')).status).toBe(404);
  });

  it('is not sent, nor a sign-in removed, by a page that another person has outdated', async () => {
    const empty = formFields(await account(), 'Invite to the portal');
    const path = await invited('dora');
    const first = await change({ ...empty, change: 'invite', customer: 'dora' });
    expect(first).toMatchObject({
      status: 409,
      text: expect.stringContaining('the sign-in of dora is not as your page has shown it'),
    });
    const asInvited = formFields(first.text, 'Remove: dora');
    await accepted(path);
    for (const kind of ['invite', 'remove'])
      expect((await change({ ...asInvited, change: kind })).status).toBe(409);
    expect((await signIn('dora')).location).toBe('.');
    const current = formFields(await account(), 'Remove: dora');
    expect((await change({ ...current, change: 'remove' })).status).toBe(303);
    expect(await account()).not.toContain('Remove: dora');
  });

  it('makes a sign-in that ends with its sessions when it is removed, and not those of others', async () => {
    const { visitor } = await accepted(await invited('rosa'));
    const { visitor: other } = await accepted(await invited('otto'));
    await account();
    // Of another account it is not removed.
    await change({ change: 'remove', customer: 'rosa' }, 'rival');
    expect((await visitor.get('')).status).toBe(200);
    await change({ change: 'remove', customer: 'rosa' });
    expect((await visitor.get('')).location).toBe('sign-in');
    expect((await signIn('rosa')).status).toBe(401);
    expect((await other.get('')).status).toBe(200);
  });

  it('makes one that takes a new password for the present one, and ends the other sessions', async () => {
    const { visitor } = await accepted(await invited('ines'));
    const { visitor: elsewhere } = await signIn('ines');
    const next = 'quite another password';
    const fields = { password: next, repeated_password: next };
    const wrong = await visitor.submit('password', { ...fields, present_password: 'wrong' });
    expect(wrong).toMatchObject({
      status: 422,
      text: expect.stringContaining('The current password is wrong.'),
    });
    const changed = await visitor.post('password', { ...fields, present_password: password });
    expect(changed.location).toBe('password');
    expect((await visitor.get('password')).text).toContain('Your password is changed.');
    expect((await elsewhere.get('')).location).toBe('sign-in');
    expect((await signIn('ines')).status).toBe(401);
    expect((await signIn('ines', next)).location).toBe('.');
  });

  it('makes one that is slowed down for wrong present passwords as at the sign-in, counted together', async () => {
    const { visitor } = await accepted(await invited('greta'));
    visitor.cookies.delete('sluice_portal_browser');
    const next = { password: `${password}!`, repeated_password: `${password}!` };
    await visitor.get('password');
    const from = forwardedFor('203.0.113.11');
    const confirm = async (present_password: string) =>
      /role="alert">([^<]+)</.exec(
        (await visitor.post('password', { ...next, present_password }, from)).text,
      )?.[1];
    const said = [];
    for (const guess of ['a', 'b', 'c', 'd']) said.push(await confirm(guess));
    const guesser = stranger(own);
    const guess = async () =>
      (await guesser.submit('sign-in', { name: 'Greta', password: 'e' }, from)).status;
    expect(await guess()).toBe(401);
    expect([...said, await confirm(password)]).toEqual([
      ...Array(4).fill('The current password is wrong.'),
      'Too many attempts. Try again in 1 second.',
    ]);
    clock.advance(1000);
    expect(await confirm('f')).toBe('The current password is wrong.');
    expect(await guess()).toBe(429);
    expect((await admin.get('audit')).text).toMatch(/portal:greta[\s\S]*was refused/);
    clock.advance(2000);
    expect(await confirm(password)).toBeUndefined();
    expect((await signIn('greta', next.password)).location).toBe('.');
  });

  it('is what makes a password that can be changed here: that of the configuration cannot', async () => {
    const { visitor } = await signIn('carla', operator.password);
    expect((await visitor.get('password')).text).toContain('whoever runs this service changes it');
    const fields = { present_password: operator.password, password, repeated_password: password };
    expect((await visitor.post('password', fields)).status).toBe(422);
  });
});

describe('the portal in a parent application', () => {
  /** An application whose users are named by a header; the accounts of some it keeps itself. */
  const accountOf: GatewayOptions['accountOf'] = ({ headers }): AccountAnswer => {
    const user = headers['x-user'] as string | undefined;
    return user?.startsWith('own-') ? { id: user, plan: 'small' } : user;
  };

  /** An application with the portal at `/my`, the dashboard at `/ops` and the API. */
  async function mounted(portal: object = {}, options: GatewayOptions = { accountOf }) {
    const sections = {
      admin: dashboardAdmin(),
      portal: portalSection({ path: '/my', ...portal }),
      plans: { small: { requests_per_minute: 10 } },
      accounts: { acme: { plan: 'small' }, rival: {} },
    };
    const own = await mountable({ url: unused }, sections as object, options);
    const { url } = await startApp(app => {
      app.use('/my', own.portal);
      app.use('/ops', own.dashboard);
      app.use(own);
      app.use((_request, response) => void response.status(418).send('parent'));
    });
    const visitor = new DashboardVisitor(`${url}/my/`);
    const as = (user: string, page: string) => visitor.get(page, { 'x-user': user });
    const send = (user: string, page: string, fields: Record<string, string>) =>
      visitor.post(page, fields, { 'x-user': user });
    return { visitor, as, send };
  }

  it('leaves its paths to the parent unless it is enabled, and is nowhere else', async () => {
    const { visitor } = await mounted({ enabled: false, users: {} });
    for (const page of ['', 'keys', 'sign-in', 'invitation', 'assets/style.css'])
      expect(await visitor.get(page)).toMatchObject({ status: 418, text: 'parent' });
    const enabled = await mounted({ path: '/portal' });
    const elsewhere = new DashboardVisitor(enabled.visitor.base.replace('/my/', '/portal/'));
    expect((await elsewhere.get('sign-in')).status).toBe(418);
  });

  it('shows the account that the application names, without a sign-in', async () => {
    const { as, visitor, send } = await mounted();
    // The application names only the account, which stands there once.
    expect((await as('acme', '')).text).toMatch(/class="who"[^>]*>acme</);
    const done = async () =>
      (await as('acme', '')).text.match(/<li><a href="keys">Issue a key<\/a> <span[^>]+>done/);
    expect([(await as('acme', '')).text.includes('First steps'), await done()]).toEqual([true, null]);
    await as('acme', 'keys');
    expect((await send('acme', 'keys', { name: 'from the application' })).status).toBe(303);
    expect(await done()).not.toBeNull();
    expect((await as('acme', 'keys')).text).toContain('from the application');
    expect((await as('acme', 'history')).text).toMatch(/acme<\/td>[\s\S]*issued the key/);
    // The session of one user is none of another.
    expect((await send('rival', 'keys', { name: 'forged' })).status).toBe(403);
    expect((await as('rival', 'keys')).text).not.toContain('from the application');
    expect((await visitor.get('')).location).toBe('sign-in');
  });

  it('says that accounts which only the application keeps have no keys', async () => {
    const { as, send } = await mounted();
    const { text } = await as('own-shop', 'keys');
    expect(text).toContain('Such an account has no keys here.');
    expect(text).not.toContain('<button class="primary">Issue key');
    // For the token of its form.
    await as('own-shop', 'playground');
    const refused = await send('own-shop', 'keys', { name: 'x', nonce: 'x'.repeat(22) });
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining('has no keys here') });
    expect((await as('own-shop', 'limits')).text).toContain('Requests per minute');
  });

  it('refuses accounts that are not there, whatever the application answers', async () => {
    const { as } = await mounted();
    for (const page of ['', 'keys', 'request?id=x']) expect((await as('nobody', page)).status).toBe(403);
    const accountOf = () => Promise.reject(new Error('secret of the parent'));
    const failed = await (await mounted({}, { accountOf })).visitor.get('');
    expect([failed.status, failed.text.includes('secret')]).toEqual([502, false]);
  });

  it('has its own sign-in beside the application, links to its mount only, and invitations that lead there', async () => {
    const { visitor } = await mounted();
    expect((await visitor.signIn(operator.password, 'carla')).location).toBe('.');
    const { text } = await visitor.get('');
    expect(text).toContain('carla · acme');
    expect(text).not.toMatch(/(href|src|action)="\//);
    const olga = new DashboardVisitor(visitor.base.replace('/my/', '/ops/'));
    await olga.signIn();
    await olga.get('people?account=acme');
    const { location } = await olga.post('people?account=acme', { change: 'invite', customer: 'nina' });
    const link = await olga.secretAt(location);
    expect(link.startsWith(`${visitor.base}invitation?token=`)).toBe(true);
    expect((await fetch(link)).status).toBe(200);
  });

  it('shows everything of a disabled account and changes nothing', async () => {
    const { as, send, visitor } = await mounted();
    const olga = new DashboardVisitor(visitor.base.replace('/my/', '/ops/'));
    await olga.signIn();
    await olga.submit('accounts', { id: 'late' });
    await as('late', 'keys');
    expect((await send('late', 'keys', { name: 'kept' })).status).toBe(303);
    const [, id = ''] = /id=(key_\w+)&amp;do=rotate/.exec((await as('late', 'keys')).text) ?? [];
    // Its plan, limits and state are not the customer's to change.
    for (const [page, fields] of [
      ['', { display_name: 'mine' }],
      ['', { change: 'enable' }],
      ['limits', { requests_per_minute: '9' }],
    ] as const)
      expect([page, (await send('late', page, fields)).status]).toEqual([page, 403]);
    expect((await olga.submit('account?id=late', { change: 'disable' })).status).toBe(303);
    const { status, text } = await as('late', 'keys');
    expect([status, text]).toEqual([200, expect.stringContaining('Your account is disabled since')]);
    expect(text).toContain('kept');
    for (const page of ['keys', `key?id=${id}`]) {
      const refused = await send('late', page, { name: 'x', overlap: 'now' });
      expect([page, refused.status]).toEqual([page, 403]);
    }
    expect((await as('late', 'keys')).text).toContain('active</span>');
  });
});
