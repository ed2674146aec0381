import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { portalPages } from '../../plugins/dashboard/portal/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { DashboardVisitor, dashboardAdmin, operatorAt, type Visited } from '../support/dashboard-visitor.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { customerOf, portalSection } from '../support/portal-visitor.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
/** Of the account that must not be seen. */
let victim: DashboardVisitor;
let mallory: DashboardVisitor;
let olga: DashboardVisitor;
const secrets: string[] = [];
/** Key and request of the other account. */
let key_id: string;
const request_id = 'request-of-acme-0001';
const xss = '<script>alert("x")</script>';

/** Of every instance. */
const configuration = () => ({
  upstream: simulator,
  config: {
    admin: dashboardAdmin(),
    portal: portalSection(),
    plans: { 'plan-of-acme': { requests_per_minute: 1234 } },
    accounts: { acme: { plan: 'plan-of-acme' }, rival: {}, unused: {} },
    stores: place.stores,
  },
});

beforeAll(async () => {
  simulator = await startSimulator();
  place = await recordsPlace();
  gateway = await startGateway(configuration());
  victim = await customerOf(gateway, 'carla');
  const { location } = await victim.submit('keys', { name: 'name-of-acme' });
  const key = await victim.secretAt(location);
  key_id = /id=(key_\w+)/.exec(location!)![1]!;
  await gateway.post(ask('Hello?'), {
    headers: { authorization: `Bearer ${key}`, 'x-request-id': request_id },
  });
  await until(async () => (await victim.get(`request?id=${request_id}`)).status === 200);
  secrets.push('acme', 'carla', 'name-of-acme', key, key.slice(-4));
  mallory = await customerOf(gateway, 'mallory');
  olga = await operatorAt(gateway);
}, 60_000);
afterAll(async () => {
  await gateway?.close();
  await place?.remove();
  await simulator?.close();
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

const names = portalPages.map(({ name }) => name);

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
        // What was asked with is said again.
        const said = text.replaceAll(key_id, '').replaceAll(request_id, '').replaceAll('value="acme"', '');
        const seen = secrets.filter(secret => said.includes(secret) && secret !== id);
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
      const seen = secrets.filter(secret =>
        text.replaceAll(key_id, '').replaceAll('value="acme"', '').includes(secret),
      );
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
    await victim.get('keys');
    await mallory.get('keys');
    const { nonce } = mallory;
    for (const name of names) {
      const stolen = await mallory.post(name, { form_token: victim.token, nonce });
      const foreign = await mallory.post(name, {}, { origin: 'https://example.org' });
      expect([name, stolen.status, foreign.status]).toEqual([name, 403, 403]);
    }
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
    const { text } = await victim.get(`playground-record?id=${request_id}`);
    expect(JSON.parse(text)).toMatchObject({ account: 'acme' });
    expect((await victim.get(`request?id=${request_id}`)).status).toBe(200);
  });

  it('sees nothing that is internal of the own requests', async () => {
    for (const page of [
      `request?id=${request_id}`,
      'requests',
      `playground-record?id=${request_id}`,
      'usage',
      'models',
    ]) {
      const { status, text } = await victim.get(page);
      expect([
        page,
        status,
        /provider(?!_)|upstream(?!_)|vllm|127\.0\.0\.1|onHeaders/i.exec(text.replace('"provider":null', '')),
      ]).toEqual([page, 200, null]);
    }
  });
});

describe('the areas of operators and customers', () => {
  it('take no session of each other', async () => {
    const asOperator = new DashboardVisitor(`${gateway.url}/portal/`);
    const asCustomer = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    for (const cookie of ['sluice_session', 'sluice_portal_session']) {
      asOperator.cookies.set(cookie, olga.cookies.get('sluice_session')!);
      asCustomer.cookies.set(cookie, victim.cookies.get('sluice_portal_session')!);
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
    expect((await new DashboardVisitor(`${gateway.url}/portal/`).signIn()).status).toBe(401);
    expect(
      (await new DashboardVisitor(`${gateway.adminUrl}/dashboard/`).signIn(undefined, 'carla')).status,
    ).toBe(401);
  });

  it('end the sessions of a removed customer at every instance', async () => {
    const other = await startGateway(configuration());
    await olga.get('account?id=unused');
    const { location } = await olga.post('sign-ins?account=unused', { change: 'invite', customer: 'ute' });
    const token = (await olga.secretAt(location)).split('token=')[1]!;
    const ute = new DashboardVisitor(`${gateway.url}/portal/`);
    await ute.get(`invitation?token=${token}`);
    const password = 'a long new password';
    await ute.post('invitation', { token, password, repeated_password: password });
    const there = ute.movedTo(`${other.url}/portal/`);
    expect((await there.get('keys')).status).toBe(200);
    await olga.get('account?id=unused');
    await olga.post('sign-ins?account=unused', { change: 'remove', customer: 'ute' });
    expect((await there.get('keys')).location).toMatch(/^sign-in/);
    await other.close();
  });

  it('start a session of their own at every sign-in', async () => {
    const visitor = new DashboardVisitor(`${gateway.url}/portal/`);
    visitor.cookies.set('sluice_portal_session', 'f'.repeat(43));
    await visitor.signIn(undefined, 'carla');
    expect(visitor.cookies.get('sluice_portal_session')).not.toBe('f'.repeat(43));
  });
});

describe('every page of the portal', () => {
  it('asks those who are not signed in to do so', async () => {
    const visitor = new DashboardVisitor(`${gateway.url}/portal/`);
    for (const name of names) {
      expect([name, (await visitor.get(name)).location]).toEqual([name, expect.stringMatching(/^sign-in/)]);
      expect([name, (await visitor.post(name, {})).status]).toEqual([name, 401]);
    }
  });

  it('escapes names, models and ids', async () => {
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
      [victim, `key?id=${key_id}`],
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
