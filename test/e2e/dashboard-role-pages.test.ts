import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { roles } from '../../plugins/dashboard/access/roles.ts';
import { pages } from '../../plugins/dashboard/pages/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  DashboardVisitor,
  operator,
  operatorAt,
  password_hash,
  whoIn,
} from '../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { until } from '../support/until.ts';

type Role = (typeof roles)[number];

interface Expected {
  /** Addresses to visit, with every part of the page that depends on data. */
  readonly visits: readonly string[];
  /** Statuses of a visit, by role: 405 for a page that only takes forms. */
  readonly get: Readonly<Record<Role, number>>;
  /** Fields of a form that changes something for an admin. */
  readonly form?: Readonly<Record<string, string>>;
  /** True if a viewer may send it. */
  readonly changesNothing?: true;
  /** A page that does not end. */
  readonly streams?: true;
}

const all = (status: number): Expected['get'] => ({ admin: status, operator: status, viewer: status });
const noViewer = { admin: 200, operator: 200, viewer: 403 };
const adminOnly = (status: number): Expected['get'] => ({ admin: status, operator: 403, viewer: 403 });
const noOperator = { admin: 200, operator: 403, viewer: 200 };

/** Every page has a row; `KEY` is a key's id, `REQUEST` one request, `NEXT` what changes something the first time. */
const expected: Readonly<Record<string, Expected>> = {
  '': { visits: ['', '?range=day', '?range=month'], get: all(200) },
  'overview-live': { visits: ['overview-live'], get: all(200), streams: true },
  find: {
    visits: ['find'],
    get: all(303),
    form: { page: 'keys', search: 'x' },
    changesNothing: true,
  },
  accounts: { visits: ['accounts'], get: all(200), form: { id: 'NEXT', plan: 'paid' } },
  account: {
    visits: ['account?id=acme', 'account?id=tester'],
    get: all(200),
    form: { change: 'name', display_name: 'NEXT' },
  },
  keys: { visits: ['keys', 'keys?all=yes'], get: all(200) },
  key: { visits: ['key?id=KEY'], get: all(200), form: { name: 'NEXT' } },
  issue: {
    visits: ['issue?account=acme'],
    get: { admin: 303, operator: 303, viewer: 403 },
    form: { name: 'NEXT', expires: 'never' },
  },
  issued: { visits: ['issued?id=KEY'], get: all(200) },
  rotate: { visits: ['rotate?id=KEY'], get: noViewer, form: { overlap: 'hour' } },
  revoke: { visits: ['revoke?id=KEY'], get: noViewer, form: {} },
  requests: { visits: ['requests', 'requests?account=tester&end=completed'], get: all(200) },
  'requests-live': { visits: ['requests-live'], get: all(200), streams: true },
  request: { visits: ['request?id=REQUEST'], get: all(200) },
  usage: {
    visits: [
      'usage',
      'usage?measure=cost',
      'usage?measure=usd',
      'usage?group=account&measure=cost',
      'usage?account=tester&group=key',
    ],
    get: all(200),
  },
  'usage-csv': { visits: ['usage-csv', 'usage-csv?by=day&by=account'], get: all(200) },
  models: { visits: ['models'], get: all(200) },
  playground: { visits: ['playground'], get: all(200) },
  'playground-run': {
    visits: ['playground-run'],
    get: all(405),
    form: { request: JSON.stringify(ask('Hello?', { stream: true })), key: clientKey },
    changesNothing: true,
  },
  'playground-record': { visits: ['playground-record?id=REQUEST'], get: all(200) },
  audit: { visits: ['audit', 'audit?action=account'], get: noOperator },
  'audit-csv': { visits: ['audit-csv'], get: noOperator },
  'sign-ins': {
    visits: ['sign-ins?account=acme'],
    get: adminOnly(303),
    form: { change: 'invite', customer: 'NEXT' },
  },
  invited: { visits: ['invited?id=carla'], get: adminOnly(200) },
};

let simulator: Simulator;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
let key: string;
const visitors = new Map<Role, DashboardVisitor>();
const as = (role: Role): DashboardVisitor => visitors.get(role)!;

/** Accounts and a key with limits in US dollars, and requests that cost something. */
beforeAll(async () => {
  [simulator, place] = await Promise.all([startSimulator({ api_key: null }), recordsPlace()]);
  key = await place.look(async ({ accounts, keys, customers }) => {
    const who = { actor: 'cli:anna', at_ms: Date.now() };
    await accounts.create({ id: 'acme', plan: 'paid', limits: { usd_per_month: 4321 } }, who);
    await accounts.change('acme', { limits: { usd_per_month: 5432 } }, who);
    const limits = { usd_per_month: 6543, requests_per_minute: 7 };
    const { record } = await keys.create({ account: 'acme', name: 'k', expires_ms: null, limits }, who);
    await keys.change(record.id, { limits: { ...limits, usd_per_month: 7654 } }, who);
    const invited = { name: 'carla', account: 'acme', digest: 'x', until_ms: Date.now() + 3_600_000 };
    await customers.invite(invited, who);
    return record.id;
  });
  const users = Object.fromEntries(roles.map(role => [role, { password_hash, role }]));
  gateway = await startGateway({
    upstream: simulator.url,
    config: {
      admin: { port: 0, users },
      portal: { enabled: true },
      stores: place.stores,
      plans: { paid: { usd_per_month: 8765, requests_per_minute: 1000 } },
      accounts: { tester: { plan: 'paid', keys: [{ value: clientKey }] } },
    },
  });
  for (const role of roles) visitors.set(role, await operatorAt(gateway, role));
  const reply = await gateway.post(ask('Hello?'), { headers: { 'x-request-id': 'of-tester' } });
  await reply.text();
  await until(async () => (await as('admin').get('request?id=of-tester')).status === 200);
}, 60_000);
afterAll(async () => {
  await gateway?.close();
  await Promise.all([simulator?.close(), place?.remove()]);
});

const filled = (text: string, next = 'next') =>
  text.replaceAll('KEY', key).replaceAll('REQUEST', 'of-tester').replaceAll('NEXT', next);

/** What a page without an end sends first. */
async function beginning(role: Role, page: string): Promise<{ status: number; text: string }> {
  const { base, cookie } = as(role);
  const left = new AbortController();
  const response = await fetch(base + page, { headers: { cookie }, signal: left.signal });
  const { value } = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read();
  left.abort();
  return { status: response.status, text: value ?? '' };
}

const visited = (role: Role, { streams }: Expected, page: string) =>
  streams ? beginning(role, filled(page)) : as(role).get(filled(page));

const changes = () =>
  place.look(async ({ audit }) => (await audit.list({ limit: 1000 })).map(({ action }) => action));

describe('the pages of the dashboard', () => {
  it('each have an expectation here for every role', () => {
    expect(pages.map(({ name }) => name).toSorted()).toEqual(Object.keys(expected).toSorted());
    const takeForms = pages.filter(({ post }) => post).map(({ name }) => name);
    const withForm = Object.keys(expected).filter(name => expected[name]!.form);
    expect(takeForms.toSorted()).toEqual(withForm.toSorted());
  });

  it.each(roles)('are open to the role %s as expected', async role => {
    for (const [name, row] of Object.entries(expected))
      for (const page of row.visits) {
        const { status } = await visited(role, row, page);
        expect([name, page, status]).toEqual([name, page, row.get[role]]);
      }
  });
});

describe('the audit log', () => {
  it('has who signed in, out and was refused, with the address, and is linked for those who may read it', async () => {
    const visitor = new DashboardVisitor(as('admin').base);
    await visitor.signIn('wrong', 'admin');
    await visitor.signIn(operator.password, 'viewer');
    expect(whoIn(await visitor.get(''))).toBe('viewer · viewer');
    await visitor.post('sign-out', {});
    const { text } = await as('admin').get('audit');
    for (const said of ['was refused to sign in', 'signed in', 'signed out', '127.0.0.1'])
      expect(text).toContain(said);
    expect(text).not.toContain('wrong');
    for (const role of roles)
      expect([role, (await as(role).get('')).text.includes('href="audit"')]).toEqual([
        role,
        role !== 'operator',
      ]);
  });
});

describe('somebody who sees no money', () => {
  const money = /\$\s?[\d.]|usd|dollar|cost|spen[dt]|pric[ei]|\b(4,?321|5,?432|6,?543|7,?654|8,?765)\b/i;
  /** Without the names of parts of a page. */
  const told = (text: string) => text.replace(/ (id|aria-labelledby)="[^"]*"/g, '');

  it('finds none on any page, in any export and any data of a script', async () => {
    const found: string[] = [];
    for (const row of Object.values(expected))
      for (const page of row.visits) {
        const text = told((await visited('operator', row, page)).text);
        const seen = money.exec(text);
        if (seen) found.push(`${page}: ${text.slice(Math.max(0, seen.index - 80), seen.index + 80)}`);
      }
    expect(found).toEqual([]);
  });

  it('finds it as an admin and as a viewer, so that there is something to hide', async () => {
    for (const role of ['admin', 'viewer'] as const)
      for (const name of ['account', 'key', 'usage', 'request', 'playground-record', 'models', 'audit']) {
        const { text } = await visited(role, expected[name]!, expected[name]!.visits[0]!);
        expect([role, name, money.test(told(text))]).toEqual([role, name, true]);
      }
  });

  it('gets no cost with an answer of the playground', async () => {
    const { form } = expected['playground-run']!;
    await as('operator').get('playground');
    const { status, text } = await as('operator').post('playground-run', form!);
    expect(status).toBe(200);
    expect(text).toContain('completion_tokens');
    expect(text).not.toMatch(/cost|usd/i);
  });

  it('keeps the limits in US dollars of an account and of a key that they change', async () => {
    await as('operator').get('account?id=acme');
    const limits = { change: 'limits', requests_per_minute: '3', usd_per_month: '1' };
    expect((await as('operator').post('account?id=acme', limits)).status).toBe(303);
    await as('operator').get(filled('key?id=KEY'));
    const ofKey = { name: 'k', requests_per_minute: '4', usd_per_month: '1' };
    expect((await as('operator').post(filled('key?id=KEY'), ofKey)).status).toBe(303);
    const kept = await place.look(async ({ accounts, keys }) => [
      (await accounts.find('acme'))!.limits,
      (await keys.find(key))!.limits,
    ]);
    expect(kept).toEqual([
      { usd_per_month: 5432, requests_per_minute: 3 },
      { usd_per_month: 7654, requests_per_minute: 4 },
    ]);
  });
});

describe('somebody who may change nothing', () => {
  /** Pages that forms are sent to, and pages that links lead to, on all pages. */
  const shown = async (role: Role) => {
    const found = { posts: new Set<string>(), leads: new Set<string>() };
    for (const row of Object.values(expected))
      for (const page of row.visits) {
        const { text } = await visited(role, row, page);
        for (const [, method, to = ''] of text.matchAll(/<form method="(\w+)" action="([^"?]*)/g))
          found[method === 'post' ? 'posts' : 'leads'].add(to);
        for (const [, to = ''] of text.matchAll(/href="([^"?]*)/g)) found.leads.add(to);
      }
    return found;
  };

  it('is shown no form that changes something, and no way to one', async () => {
    const closed = Object.keys(expected).filter(name => expected[name]!.get.viewer === 403);
    const viewer = await shown('viewer');
    expect([...viewer.posts].filter(name => !expected[name]?.changesNothing)).toEqual(['sign-out']);
    expect(closed.filter(name => viewer.leads.has(name))).toEqual([]);
    const admin = await shown('admin');
    const forms = Object.keys(expected).filter(name => expected[name]!.form);
    const sent = forms.filter(name => !expected[name]!.changesNothing);
    expect(sent.filter(name => !admin.posts.has(name))).toEqual([]);
  });

  it('changes nothing with any form, and everybody else does', async () => {
    const sent = async (role: Role) => {
      const statuses: Record<string, number> = {};
      for (const [name, { visits, form, changesNothing }] of Object.entries(expected)) {
        if (!form || changesNothing) continue;
        await as(role).get('account?id=acme');
        if (role !== 'viewer') await as(role).get(filled(visits[0]!));
        const fields = Object.entries(form).map(([field, value]) => [field, filled(value, `by-${role}`)]);
        statuses[name] = (await as(role).post(filled(visits[0]!), Object.fromEntries(fields))).status;
      }
      return statuses;
    };
    const told = await as('viewer').post('accounts', { id: 'of-viewer' });
    expect(told.text).toContain('The role viewer may not change anything.');
    const before = await changes();
    expect(new Set(Object.values(await sent('viewer')))).toEqual(new Set([403]));
    expect(await changes()).toEqual(before);
    const refused = Object.entries(await sent('operator')).filter(([, status]) => status >= 400);
    expect(refused).toEqual([['sign-ins', 403]]);
    expect((await changes()).length).toBeGreaterThan(before.length);
  });
});
