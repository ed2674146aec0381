import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import express, { type Express, type RequestHandler } from 'express';
import { localPage } from '../../plugins/dashboard/page-response.ts';
import { pages } from '../../plugins/dashboard/pages/index.ts';
import { readForm } from '../../plugins/dashboard/read-form.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { GatewayOptions } from '../../src/index.ts';
import { capturedLog } from '../support/captured-log.ts';
import {
  DashboardVisitor,
  dashboardAdmin,
  formFields,
  operator,
  operatorAt,
  password_hash,
  throughProvider,
  type Visited,
  whoIn,
} from '../support/dashboard-visitor.ts';
import { closeApps, startApp } from '../support/express-app.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Forgery, type ForgingProvider, startForgingProvider } from '../support/forging-provider.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { liveEvents } from '../support/live-events.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { type OpenidProvider, startOpenidProvider } from '../support/openid-provider.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { until } from '../support/until.ts';

/** Who is let in to the dashboard, by what, for how long, and which forms are taken from them. */

const unused = 'http://127.0.0.1:9/v1';
const { log, lines } = capturedLog();
const running: GatewayUnderTest[] = [];
let clock: FakeClock;
let provider: OpenidProvider;
let forging: ForgingProvider;
let place: RecordsPlace;
/** The gateway of all tests that guess no password. */
let shared: GatewayUnderTest;

/** A gateway with a dashboard of its own, and a visitor who has not signed in to it. */
async function dashboard(
  admin: object = dashboardAdmin(),
  config: object = {},
  options: object = { clock },
): Promise<DashboardVisitor> {
  const gateway = await startGateway({ upstream: unused, config: { admin, ...config }, options });
  running.push(gateway);
  return new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
}

beforeAll(async () => {
  [provider, forging, place] = await Promise.all([
    startOpenidProvider(),
    startForgingProvider('sluice'),
    recordsPlace(),
  ]);
  shared = await startGateway({ upstream: unused, config: { admin: dashboardAdmin() }, options: { log } });
  running.push(shared);
});
beforeEach(() => {
  clock = new FakeClock();
});
afterAll(async () => {
  await Promise.all(running.map(gateway => gateway.close()));
  await closeMounted();
  await closeApps();
  await Promise.all([provider?.close(), forging?.close(), place?.remove()]);
});

const stranger = (base = `${shared.adminUrl}/dashboard/`) => new DashboardVisitor(base);
const names = pages.map(({ name }) => name);
const wrong = { ...operator, password: 'wrong' };
const forwardedFor = (address: string) => ({ 'x-forwarded-for': address });

describe('the dashboard sign-in', () => {
  it('does not exist when no operator is configured', async () => {
    const visitor = await dashboard({ port: 0 });
    for (const page of [...names, 'sign-in', 'assets/style.css'])
      expect((await visitor.get(page)).status).toBe(404);
    expect((await fetch(visitor.base.slice(0, -1))).status).toBe(404);
  });

  it('guards every page', async () => {
    for (const page of names) {
      const { status, location, text } = await stranger().get(page);
      expect([page, status, location?.startsWith('sign-in'), text]).toEqual([page, 303, true, '']);
      expect([page, (await stranger().post(page, {})).status]).toEqual([page, 401]);
    }
  });

  it('signs in by name and password, returns to the requested page, and signs out', async () => {
    const { name, password } = operator;
    const visitor = await dashboard(dashboardAdmin({ users: { [name]: { password } } }));
    const { location } = await visitor.get('keys?search=a%26b');
    expect(location).toBe('sign-in?next=keys%3Fsearch%3Da%2526b');
    const form = formFields((await visitor.get(location!)).text, 'name="password"');
    expect(form.next).toBe('keys?search=a%26b');
    const entered = await visitor.post('sign-in', { ...form, ...operator });
    expect([entered.status, entered.location]).toEqual([303, form.next]);
    const page = await visitor.get(entered.location!);
    expect([page.status, whoIn(page)]).toEqual([200, name]);

    const session = visitor.cookies.get('sluice_session')!;
    const left = await visitor.post('sign-out', formFields(page.text, 'Sign out'));
    expect(left.location).toBe('sign-in');
    expect(left.headers.getSetCookie()).toEqual(['sluice_session=; Max-Age=0; HttpOnly; SameSite=Strict']);
    visitor.cookies.set('sluice_session', session);
    expect((await visitor.get('keys')).status).toBe(303);
  });

  it('redirects only to pages of the dashboard', async () => {
    const next = 'https://example.org';
    expect((await stranger().submit('sign-in', { ...operator, next })).location).toBe('.');
    const others = ['//a.example', '/', 'javascript:alert(1)', '..\\x', 'keys\n', 'keys?a\nb', 'keys?“'];
    for (const one of [...others, 'keys?a#b', 'keys?\\']) expect([one, localPage(one)]).toEqual([one, '.']);
  });

  it.each([
    [true, 'http, https', '; Secure'],
    [true, '', ''],
    [false, 'https', ''],
  ])(
    'sets cookies that are HttpOnly and SameSite=Strict; trusting a proxy (%s) that says "%s": "%s"',
    async (trust_proxy, proto, secure) => {
      const visitor = await dashboard(dashboardAdmin({ trust_proxy }));
      await visitor.get('sign-in');
      const headers = { ...(proto && { 'x-forwarded-proto': proto }) };
      const set = (await visitor.post('sign-in', operator, headers)).headers.getSetCookie();
      const end = `HttpOnly${secure}; SameSite=Strict$`;
      expect(set).toEqual([
        expect.stringMatching(`^sluice_browser=[\\w-]{43}; Max-Age=31536000; ${end}`),
        expect.stringMatching(`^sluice_session=[\\w-]{43}; ${end}`),
      ]);
    },
  );
});

describe('a session', () => {
  it('expires after its idle timeout, and in any case after its maximum lifetime', async () => {
    const visitor = await dashboard(dashboardAdmin({ session_idle_ms: 60_000, session_max_ms: 150_000 }));
    await visitor.signIn();
    for (const at of ['once', 'twice']) {
      clock.advance(59_000);
      expect([at, (await visitor.get('keys')).status]).toEqual([at, 200]);
    }
    clock.advance(59_000);
    expect((await visitor.get('keys')).location).toBe('sign-in?next=keys');
    await visitor.signIn();
    clock.advance(60_000);
    expect((await visitor.post('accounts', { id: 'late' })).status).toBe(401);
  });

  it('is not kept alive by the streams of an open page', async () => {
    const visitor = await dashboard(dashboardAdmin({ session_idle_ms: 60_000 }));
    for (const page of ['overview-live', 'requests-live']) {
      await visitor.signIn();
      clock.advance(40_000);
      const live = await liveEvents(visitor, page);
      expect([page, live.status]).toEqual([page, 200]);
      clock.advance(20_000);
      expect([page, (await visitor.get('keys')).status]).toEqual([page, 303]);
      live.leave();
    }
  });

  it('that expired while a form was filled in returns to what was typed, without secrets', async () => {
    const visitor = await dashboard(dashboardAdmin({ session_idle_ms: 60_000 }));
    await visitor.signIn();
    await visitor.get('accounts');
    clock.advance(60_000);
    const typed = { id: 'late', plan: '', display_name: '<b>Late & Co</b>', password: 'a secret' };
    const expired = await visitor.post('accounts', typed);
    expect(expired.status).toBe(401);
    expect(expired.text).toContain('You were signed out.');
    const kept = /name="typed" value="([^"]*)"/.exec(expired.text)![1]!.replaceAll('&amp;', '&');
    const next = /name="next" value="([^"]*)"/.exec(expired.text)![1]!;
    expect([next, kept]).toEqual(['accounts', expect.stringContaining('id=late')]);
    expect(kept).not.toMatch(/secret|form_token/);
    const refused = await visitor.post('sign-in', { ...wrong, next, typed: kept });
    expect([refused.status, refused.text.includes('id=late')]).toEqual([401, true]);
    const resumed = await visitor.post('sign-in', { ...operator, next, typed: kept });
    expect(resumed.text).toContain('&lt;b&gt;Late &amp; Co&lt;/b&gt;');
    expect((await visitor.get('accounts')).text).not.toContain('Late');
    const sent = await visitor.post('accounts', Object.fromEntries(new URLSearchParams(kept)));
    expect(sent.location).toBe('keys?account=late');
  });

  it('survives a restart of the gateway, until the password is changed, with the role of the new one', async () => {
    const { stores } = place;
    const users = (of: object) => dashboardAdmin({ users: of });
    const anna = { password_hash, role: 'admin' };
    const [olga, otto] = [{ [operator.name]: { password_hash } }, { otto: { password_hash } }];
    const before = await dashboard(users({ ...olga, ...otto, anna }), { stores });
    const at = async (name: string) => {
      const visitor = stranger(before.base);
      await visitor.signIn(operator.password, name);
      await visitor.get('accounts');
      return visitor;
    };
    const old = [await at(operator.name), await at('otto'), await at('anna')] as const;
    await running.pop()!.close();
    const changed = { ...olga, otto: { password: 'another password' }, anna: { ...anna, role: 'viewer' } };
    const after = await dashboard(users(changed), { stores });
    const [same, other, viewer] = old.map(visitor => visitor.movedTo(after.base));
    expect((await same!.submit('accounts', { id: 'acme' })).location).toBe('keys?account=acme');
    expect((await other!.get('accounts')).status).toBe(303);
    viewer!.token = old[2].token;
    expect((await viewer!.post('accounts', { id: 'late' })).status).toBe(403);
    expect(whoIn(await viewer!.get(''))).toBe('anna · viewer');
    expect(await place.look(({ accounts }) => accounts.find('late'))).toBeUndefined();
    const removed = await dashboard(users(otto), { stores });
    expect((await old[0].movedTo(removed.base).get('keys')).status).toBe(303);
  });

  it('belongs to one browser and cannot be forged', async () => {
    await operatorAt(shared);
    const other = stranger();
    expect((await other.get('accounts')).status).toBe(303);
    other.cookies.set('sluice_session', 'A'.repeat(43));
    expect((await other.get('accounts')).status).toBe(303);
    // Neither is the cookie of the form that signs in one.
    await other.get('sign-in');
    other.cookies.set('sluice_session', other.cookies.get('sluice_sign_in')!);
    expect((await other.get('accounts')).status).toBe(303);
  });

  it('that somebody else has planted is not the one that a sign-in starts, whether it exists or not', async () => {
    const planted = (await operatorAt(shared)).cookies.get('sluice_session')!;
    for (const token of [planted, 'x'.repeat(43)]) {
      const [victim, thief] = [stranger(), stranger()];
      victim.cookies.set('sluice_session', token);
      await victim.signIn();
      expect(victim.cookies.get('sluice_session')).not.toBe(token);
      thief.cookies.set('sluice_session', token);
      expect((await thief.get('keys')).status).toBe(303);
    }
  });

  it('is started by the form of the own browser only', async () => {
    const [attacker, victim] = [stranger(), stranger()];
    await attacker.get('sign-in');
    expect((await victim.submit('sign-in', { ...operator, form_token: attacker.token })).status).toBe(403);
    expect(victim.cookies.has('sluice_session')).toBe(false);
  });
});

describe('a wrong password', () => {
  it('is rejected with the same message as a wrong name', async () => {
    const visitor = await dashboard();
    const known = await visitor.signIn('wrong');
    const unknown = await visitor.signIn('wrong', 'nobody');
    expect([known.status, unknown.status]).toEqual([401, 401]);
    expect(known.text).toContain('The name or the password is wrong.');
    const bare = ({ text }: Visited) => text.replace(/name="form_token" value="[^"]+"/, '');
    expect(bare(unknown).replaceAll('nobody', operator.name)).toBe(bare(known));
    expect(visitor.cookies.has('sluice_session')).toBe(false);
  });

  it('delays further attempts, including those with the right password', async () => {
    const visitor = await dashboard();
    for (let tries = 0; tries < 5; tries++) expect((await visitor.signIn('wrong')).status).toBe(401);
    const held = await visitor.signIn();
    expect([held.status, held.headers.get('retry-after')]).toEqual([429, '1']);
    expect(held.text).toContain('Try again in 1 second.');
    clock.advance(1000);
    expect((await visitor.signIn()).status).toBe(303);
  });

  it('throttles an address that tries many names, and no other address', async () => {
    const visitor = await dashboard(dashboardAdmin({ trust_proxy: true }));
    const from = (address: string) => forwardedFor(`203.0.113.9, ${address}`);
    await visitor.get('sign-in');
    for (let tries = 0; tries < 10; tries++)
      await visitor.post('sign-in', { name: `n${tries}`, password: 'wrong' }, from('198.51.100.1'));
    expect((await visitor.post('sign-in', operator, from('198.51.100.1'))).status).toBe(429);
    expect((await visitor.post('sign-in', operator, from('198.51.100.2'))).status).toBe(303);
  });

  it('tried from the address of an operator does not lock out a browser that has signed in before', async () => {
    const owner = await dashboard();
    await owner.signIn();
    await owner.post('sign-out', {});
    const other = stranger(owner.base);
    for (let tries = 0; tries < 10; tries++) await other.signIn('wrong', `name ${tries}`);
    expect((await other.signIn()).status).toBe(429);
    expect((await owner.signIn()).status).toBe(303);
    // Its own failures count, so that a stolen cookie is no way around the throttle.
    for (let tries = 0; tries < 5; tries++) expect((await owner.signIn('wrong')).status).toBe(401);
    expect((await owner.signIn()).status).toBe(429);
  });

  it('in a flood from many addresses does not delay a known browser', async () => {
    const owner = await dashboard(dashboardAdmin({ trust_proxy: true }));
    await owner.signIn();
    const other = stranger(owner.base);
    await other.get('sign-in');
    let isOver = false;
    const statuses = new Set<number>();
    // Two passwords are compared and twenty wait.
    const flood = Array.from({ length: 25 }, async (_, host) => {
      for (let tries = 0; !isOver && tries < 5; tries++)
        statuses.add((await other.post('sign-in', wrong, forwardedFor(`198.51.100.${host}`))).status);
    });
    for (let tries = 0; tries < 3; tries++) expect((await owner.signIn()).status).toBe(303);
    isOver = true;
    await Promise.all(flood);
    expect(statuses).toEqual(new Set([401, 429]));
  });

  it('is throttled when many attempts arrive at once', async () => {
    const visitor = await dashboard();
    await visitor.get('sign-in');
    const tries = Array.from({ length: 30 }, () => visitor.post('sign-in', wrong));
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.filter(status => status === 401).length).toBeLessThanOrEqual(5);
    expect(statuses.filter(status => status === 429).length).toBeGreaterThanOrEqual(25);
  });
});

describe('a dashboard form', () => {
  let visitor: DashboardVisitor;
  let accounts = 0;
  beforeAll(async () => {
    visitor = await operatorAt(shared);
  });
  beforeEach(() => visitor.get('accounts'));
  const newAccount = () => `made-${++accounts}`;
  const expectRefused = async (id: string, fields: object, headers = {}) => {
    const { status, text } = await visitor.post('accounts', { id, ...fields }, headers);
    expect(status).toBe(403);
    expect((await visitor.get(`account?id=${id}`)).status).toBe(404);
    return text;
  };

  it('that does not arrive in time is no failure of the page', async () => {
    const { hostname, port, host } = new URL(shared.adminUrl);
    const socket = connect(Number(port), hostname);
    const head = `host: ${host}\r\norigin: ${shared.adminUrl}\r\ncontent-length: 100`;
    socket.write(
      `POST /dashboard/sign-in HTTP/1.1\r\n${head}\r\ncontent-type: application/x-www-form-urlencoded\r\n\r\nname=`,
      () => socket.destroy(),
    );
    await once(socket, 'close');
    expect((await stranger().signIn('wrong')).status).toBe(401);
    expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
    expect(lines.at(-1)).toMatchObject({ msg: 'sign-in refused' });
  });

  it('changes nothing without its token, with a wrong one, or with one of another browser', async () => {
    const other = await operatorAt(shared);
    await other.get('accounts');
    for (const form_token of ['', 'A'.repeat(43), `${visitor.token}x`, other.token])
      expect(await expectRefused(newAccount(), { form_token })).toContain(
        'has expired, or was not made for you',
      );
  });

  it('of any page is refused without its token, and from another origin', async () => {
    for (const { name } of pages.filter(({ post }) => post)) {
      const forged = await visitor.post(name, { form_token: 'A'.repeat(43) });
      const foreign = await visitor.post(name, {}, { origin: 'https://example.org' });
      expect([name, forged.status, foreign.status]).toEqual([name, 403, 403]);
    }
  });

  it.each([
    ['of another origin', { origin: 'https://example.org' }],
    ['of another port', { origin: 'http://127.0.0.1:1' }],
    ['of nowhere', { origin: 'null' }],
    ['that the browser says came from elsewhere', { 'sec-fetch-site': 'cross-site' }],
    ['that the browser says came from a neighbour', { 'sec-fetch-site': 'same-site' }],
    ['that no page has sent', { 'sec-fetch-site': 'none' }],
  ])('changes nothing when it is one %s', async (_, headers) => {
    await expectRefused(newAccount(), {}, headers);
  });

  it('changes nothing without an Origin header', async () => {
    const body = new URLSearchParams({ id: newAccount(), form_token: visitor.token }).toString();
    const headers = { cookie: visitor.cookie, 'content-type': 'application/x-www-form-urlencoded' };
    const sent = request(`${visitor.base}accounts`, { method: 'POST', headers }).end(body);
    const [reply] = await once(sent, 'response');
    reply.resume();
    expect(reply.statusCode).toBe(403);
  });

  it('is accepted behind a proxy that rewrites Host when Sec-Fetch-Site is same-origin', async () => {
    const headers = { origin: 'https://ops.example.org', 'sec-fetch-site': 'same-origin' };
    expect((await visitor.post('accounts', { id: newAccount() }, headers)).status).toBe(303);
  });

  it('is rejected with a readable message when it is too large or not a form', async () => {
    const large = await visitor.post('accounts', { id: 'x'.repeat(40_000) });
    expect(large).toMatchObject({
      status: 413,
      text: expect.stringContaining('larger than the 32768 bytes'),
    });
    const json = await visitor.post('accounts', {}, { 'content-type': 'application/json' });
    expect(json.status).toBe(400);
  });

  it('is accepted by POST only', async () => {
    const id = newAccount();
    expect((await visitor.get(`keys?account=tester&form_token=${visitor.token}&name=x`)).status).toBe(200);
    await visitor.get(`accounts?id=${id}&form_token=${visitor.token}`);
    expect((await visitor.get(`account?id=${id}`)).status).toBe(404);
    expect((await visitor.get('keys')).text).toContain('There are no active keys.');
    expect((await visitor.post('usage', {})).status).toBe(405);
  });

  it('shows text from operators and clients escaped, wherever it is shown', async () => {
    const hostile = `<script>alert(1)</script>"' onfocus=alert(1)`;
    const search = new URLSearchParams({ search: hostile, account: hostile, all: 'yes' });
    const texts = [(await visitor.post('accounts', { id: hostile })).text];
    await visitor.issue('tester', { name: hostile });
    for (const page of [
      `keys?${search}`,
      `accounts?${search}`,
      `account?${new URLSearchParams({ id: hostile })}`,
      'keys',
      'audit',
      `sign-in?${new URLSearchParams({ next: hostile })}`,
    ])
      texts.push((await visitor.get(page)).text);
    for (const text of texts) {
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; onfocus');
      expect(text).not.toContain('<script>alert');
    }
  });

  it.each<[string, RequestHandler | undefined]>([
    ['without a parser', undefined],
    ['behind express.urlencoded', express.urlencoded({ extended: false })],
    ['behind express.urlencoded, extended', express.urlencoded({ extended: true })],
  ])('has all its fields, repeated ones in their order, however many: %s', async (_, parser) => {
    const app = await startApp(app => {
      if (parser) app.use(parser);
      app.post('/', async (request, response) => void response.json([...(await readForm(request))]));
    });
    const ids = Array.from({ length: 150 }, (_, at) => ['id', `key_${at}`] as [string, string]);
    const sent: [string, string][] = [['form_token', 'x&=ä'], ...ids, ['empty', '']];
    const response = await fetch(app.url, { method: 'POST', body: new URLSearchParams(sent) });
    expect(await response.json()).toEqual(sent);
  });
});

describe('a dashboard response', () => {
  let visitor: DashboardVisitor;
  beforeAll(async () => {
    visitor = await operatorAt(shared);
  });

  it.each(['sign-in', 'accounts', 'nothing-here', 'assets/style.css', 'assets/copy.js'])(
    'has the security headers: %s',
    async page => {
      const { headers, text } = await visitor.get(page);
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'same-origin',
        'cache-control': page.startsWith('assets/') ? 'no-cache' : 'no-store',
        vary: 'accept-encoding',
      });
      expect(text).not.toMatch(/(src|href|action)="(https?:)?\/\//);
    },
  );

  it('is kept by browsers for good if its address changes with it, and compressed as they accept it', async () => {
    const { text } = await visitor.get('accounts');
    const [, style = ''] = /rel="stylesheet" href="([^"]+)"/.exec(text)!;
    const told = async (page: string, encoding: string) => {
      const { headers } = await visitor.get(page, { 'accept-encoding': encoding });
      return [headers.get('cache-control')!.slice(0, 24), headers.get('content-encoding')];
    };
    expect(await told(style, 'gzip, br')).toEqual(['public, max-age=31536000', 'br']);
    expect(await told(style.replace(/-[^/]+/, '-0123456789abcdef'), 'gzip')).toEqual(['no-cache', 'gzip']);
    expect(await told('accounts', 'gzip, br;q=0')).toEqual(['no-store', 'gzip']);
    expect(await told('accounts', 'identity')).toEqual(['no-store', null]);
  });

  it('has form tokens that never look the same, each of which is valid', async () => {
    const tokens = [];
    for (let at = 0; at < 2; at++) {
      await visitor.get('accounts');
      tokens.push(visitor.token);
    }
    expect(new Set(tokens).size).toBe(2);
    for (const form_token of tokens) {
      const { location } = await visitor.post('find', { form_token, page: 'accounts', search: 'x' });
      expect(location).toBe('accounts?search=x');
    }
  });

  it('is 304 for an unchanged asset, and 404 for a file outside the assets', async () => {
    const first = await stranger().get('assets/style.css');
    const again = await stranger().get('assets/style.css', { 'if-none-match': first.headers.get('etag')! });
    expect([again.status, again.text]).toEqual([304, '']);
    for (const page of ['../dashboard.ts', '%2e%2e/dashboard.ts', '', 'constructor'].map(
      name => `assets/${name}`,
    ))
      expect((await visitor.get(page)).status).toBe(404);
  });
});

type Oidc = NonNullable<NonNullable<GatewayConfig['admin']>['oidc']>;

const roles = { 'Anna@example.com': 'admin', 'vera@example.com': 'viewer' } as const;

/** A dashboard with a sign-in by OpenID. */
const openTo = (oidc: Oidc, more: object = {}) =>
  dashboard({ ...dashboardAdmin({ oidc }), ...more }, { stores: place.stores }, {});
const again = ({ base }: DashboardVisitor) => stranger(base);

/** Signs in by OpenID as a browser does: the strict cookies stay behind on the way back. */
async function signInByOpenid(visitor: DashboardVisitor, page = ''): Promise<Visited> {
  const query = page && `?${new URLSearchParams({ next: page })}`;
  const { location } = await visitor.get(`sign-in-oidc${query}`);
  return visitor.get(await throughProvider(location!, visitor.base), { 'sec-fetch-site': 'cross-site' });
}

describe('sign-in at the dashboard by OpenID', () => {
  let first: DashboardVisitor;

  beforeAll(async () => {
    const { issuer, client_id, client_secret } = provider;
    first = await openTo({
      issuer,
      client_id,
      client_secret,
      scopes: ['openid', 'email', 'groups'],
      label: 'Sign in with Example',
      roles,
      role_claim: 'groups',
      claim_roles: { support: 'operator', staff: 'viewer' },
    });
  });

  it('says so while the provider does not answer, and lets operators in by password', async () => {
    const visitor = again(first);
    const refused = await visitor.get('sign-in-oidc');
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('The sign-in provider does not answer.');
    expect((await visitor.signIn()).status).toBe(303);
    provider.open(`${first.base}sign-in-callback`);
    // A failed discovery is not repeated at once.
    await until(async () => (await again(first).get('sign-in-oidc')).status === 303);
  });

  it('lets somebody in by name, in a new session, and leads to the page that was asked for', async () => {
    const visitor = again(first);
    visitor.cookies.set('sluice_session', 'x'.repeat(43));
    const asked = await visitor.get('keys?search=a%26b');
    const form = await visitor.get(asked.location!);
    expect(form.text).toMatch(/href="sign-in-oidc\?next=keys%3Fsearch%3Da%2526b"[^>]*>Sign in with Example</);
    provider.next = { email: 'anna@example.com', email_verified: true };
    const entered = await signInByOpenid(visitor, 'keys?search=a%26b');
    expect(entered.text).toContain('http-equiv="refresh" content="0; url=keys?search=a%26b"');
    const home = await visitor.get('keys?search=a%26b');
    expect(home.status).toBe(200);
    expect(home.text).toContain('anna@example.com');
    expect(visitor.cookies.has('sluice_oidc')).toBe(false);
    const session = visitor.cookies.get('sluice_session')!;
    expect(session).not.toBe('x'.repeat(43));
    await visitor.post('sign-out', {});
    visitor.cookies.set('sluice_session', session);
    expect((await visitor.get('')).status).toBe(303);
  });

  it.each<[string, string, string | string[], string]>([
    ['of the most powerful group', 'otto', ['staff', 'support'], 'operator'],
    ['of a single group', 'sam', 'staff', 'viewer'],
    ['of the name before a group', 'vera', ['support'], 'viewer'],
  ])('gives the role %s', async (_, name, groups, role) => {
    const visitor = again(first);
    provider.next = { email: `${name}@example.com`, email_verified: true, groups };
    await signInByOpenid(visitor);
    expect(whoIn(await visitor.get(''))).toBe(`${name}@example.com · ${role}`);
  });

  const [eve, anna] = [{ email: 'eve@example.com', groups: ['sales'] }, { email: 'anna@example.com' }];
  it.each<[string, object, string]>([
    ['a stranger', { ...eve, email_verified: true }, 'You signed in as eve@example.com, who is not let in.'],
    ['an unverified address', { ...anna, email_verified: false }, 'no verified email address'],
    ['an address of which it is not told', anna, 'no verified email address'],
    ['no address', {}, 'no verified email address'],
  ])('refuses %s, and says whom the provider named', async (_, claims, said) => {
    const visitor = again(first);
    provider.next = { ...claims };
    const { status, text } = await signInByOpenid(visitor);
    expect([status, visitor.cookies.has('sluice_session')]).toEqual([403, false]);
    expect(text).toContain(said);
  });

  it('shows what the provider refuses, as text', async () => {
    provider.next = undefined;
    const { status, text } = await signInByOpenid(again(first));
    expect(status).toBe(403);
    expect(text).toContain('The sign-in provider answered “access_denied”.');
    expect(text).toContain('Declined by &lt;the&gt; person.');
  });

  it('sets a cookie that comes along from the provider, is of no use elsewhere, and ends soon', async () => {
    const { headers } = await again(first).get('sign-in-oidc');
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^sluice_oidc=[\w-]{43}; Max-Age=600; HttpOnly; SameSite=Lax$/),
    ]);
  });

  it('takes what was typed into a form through the sign-in', async () => {
    const visitor = again(first);
    const sent = await visitor.post('accounts', { id: 'typed-in' });
    expect(sent.status).toBe(401);
    provider.next = { email: 'anna@example.com', email_verified: true };
    const shown = await signInByOpenid(visitor, 'accounts');
    expect(shown.text).toContain('Send the form again?');
    expect((await visitor.post('accounts', { id: 'typed-in' })).location).toBe('keys?account=typed-in');
  });

  it('holds at another instance, ends when the settings change, and loses a role that is taken away', async () => {
    const { issuer, client_id, client_secret } = provider;
    const [anna, otto] = [again(first), again(first)];
    provider.next = { email: 'anna@example.com', email_verified: true };
    await signInByOpenid(anna);
    provider.next = { email: 'otto@example.com', email_verified: true, groups: ['support'] };
    await signInByOpenid(otto);
    const oidc = { issuer, client_id, client_secret, role_claim: 'groups' };
    const claim_roles = { support: 'operator', staff: 'viewer' } as const;
    const seenAt = async (settings: Partial<Oidc>) => {
      const there = await openTo({ ...oidc, ...settings });
      return Promise.all(
        [anna, otto].map(async ({ cookies }) => {
          const visitor = again(there);
          visitor.cookies.set('sluice_session', cookies.get('sluice_session')!);
          const page = await visitor.get('');
          return whoIn(page) ?? page.status;
        }),
      );
    };
    expect(await seenAt({ roles, claim_roles })).toEqual(['anna@example.com', 'otto@example.com · operator']);
    const changed = { roles: { 'anna@example.com': 'viewer' }, claim_roles: { support: 'admin' } } as const;
    expect(await seenAt(changed)).toEqual(['anna@example.com · viewer', 303]);
    expect(await seenAt({ roles: {}, claim_roles })).toEqual([303, 'otto@example.com · operator']);
    expect(await seenAt({ roles, claim_roles, client_id: 'another' })).toEqual([303, 303]);
  });
});

describe('an answer of an OpenID provider', () => {
  let relying: DashboardVisitor;

  beforeAll(async () => {
    const { issuer } = forging;
    relying = await openTo({ issuer, client_id: 'sluice', roles }, { users: {} });
  });

  const finish = async (forgery: Forgery, changed: (query: string) => string = query => query) => {
    const visitor = again(relying);
    const { location } = await visitor.get('sign-in-oidc');
    forging.forgery = forgery;
    const { status } = await visitor.get(`sign-in-callback?${changed(forging.comeBack(location!))}`);
    return [status, visitor.cookies.has('sluice_session')];
  };
  const now_s = Math.floor(Date.now() / 1000);
  const [verified, unverified] = [{ email_verified: true }, { email_verified: undefined }];
  const anna = { email: 'anna@example.com', ...verified };
  const [none, nameless] = [{ email: undefined, ...unverified }, { email: undefined }];
  const bare = { email: 'anna@example.com' };

  it('lets somebody in if it is right', async () => {
    expect(await finish({})).toEqual([200, true]);
  });

  it.each<[string, Forgery]>([
    ['another nonce', { claims: { nonce: 'of-another-sign-in' } }],
    ['another issuer', { claims: { iss: 'https://login.example.com' } }],
    ['another audience', { claims: { aud: 'another-client' } }],
    ['several audiences of which another one asked', { claims: { aud: ['sluice', 'other'], azp: 'other' } }],
    ['an end in the past', { claims: { iat: now_s - 600, exp: now_s - 60 } }],
    ['no subject', { claims: { sub: undefined } }],
    ['a signature by a foreign key', { foreignKey: true }],
    ['an unknown key', { header: { kid: 'two' } }],
    ['no signature', { unsigned: true }],
  ])('is refused if its token has %s', async (_, forgery) => {
    expect(await finish(forgery)).toEqual([502, false]);
  });

  it('is refused if it fails, is from another provider, or has another state', async () => {
    expect(await finish({ status: 500 })).toEqual([502, false]);
    const changed = (name: string, value: string) => (query: string) => {
      const fields = new URLSearchParams(query);
      fields.set(name, value);
      return fields.toString();
    };
    expect(await finish({}, changed('iss', 'https://login.example.com'))).toEqual([502, false]);
    expect(await finish({}, changed('state', 'a.b.c'))).toEqual([400, false]);
    expect(await finish({}, changed('code', 'guessed'))).toEqual([502, false]);
  });

  const eve = { ...anna, email: 'eve@example.com' };
  it.each<[string, boolean, Forgery]>([
    ['has an address', true, { claims: none, userinfo: anna }],
    ['has an address that is not verified', false, { claims: none, userinfo: { ...anna, ...unverified } }],
    ['verifies another address', false, { claims: unverified, userinfo: eve }],
    ['verifies an address that it does not have', false, { claims: unverified, userinfo: verified }],
    ['has the address that the token verifies without it', false, { claims: nameless, userinfo: bare }],
    ['is of another person', false, { claims: none, userinfo: { ...anna, sub: 'anna' } }],
  ])('beside which userinfo %s lets somebody in: %s', async (_, isLetIn, forgery) => {
    expect((await finish(forgery))[1]).toBe(isLetIn);
  });

  it('is refused in a browser that has not begun the sign-in, and the second time', async () => {
    forging.forgery = {};
    const [attacker, victim] = [again(relying), again(relying)];
    const begun = await attacker.get('sign-in-oidc');
    const query = forging.comeBack(begun.location!);
    expect((await victim.get(`sign-in-callback?${query}`)).status).toBe(400);
    await victim.get('sign-in-oidc');
    expect((await victim.get(`sign-in-callback?${query}`)).status).toBe(400);
    const cookie = attacker.cookies.get('sluice_oidc')!;
    expect((await attacker.get(`sign-in-callback?${query}`)).status).toBe(200);
    expect((await attacker.get(`sign-in-callback?${query}`)).status).toBe(400);
    attacker.cookies.set('sluice_oidc', cookie);
    expect((await attacker.get(`sign-in-callback?${query}`)).status).toBe(502);
  });

  it('shows no message of somebody who made up the address', async () => {
    const visitor = again(relying);
    await visitor.get('sign-in-oidc');
    const { status, text } = await visitor.get('sign-in-callback?error=pay&error_description=now&state=x');
    expect(status).toBe(400);
    expect(text).not.toContain('pay');
  });

  it('is the only way in where no passwords are configured', async () => {
    const { text } = await again(relying).get('sign-in');
    expect(text).toContain('href="sign-in-oidc"');
    expect(text).not.toContain('<form');
  });
});

describe('the header of a trusted proxy', () => {
  let near: DashboardVisitor;
  let far: DashboardVisitor;
  const { log: farLog, lines: farLines } = capturedLog();
  beforeAll(async () => {
    const proxy = {
      roles: { anna: 'admin', vera: 'viewer' },
      role_header: 'X-Forwarded-Groups',
      header_roles: { support: 'operator', staff: 'viewer' },
    };
    const trusting = (addresses: string[], options = {}) =>
      dashboard(dashboardAdmin({ proxy: { ...proxy, addresses } }), {}, options);
    near = await trusting(['192.0.2.0/24', '127.0.0.0/8']);
    far = await trusting(['192.0.2.0/24', '::1', '127.0.0.2'], { log: farLog });
  });
  const seen = async (headers: Record<string, string>, at = near) => {
    const page = await stranger(at.base).get('', headers);
    return whoIn(page) ?? page.status;
  };
  const user = (name: string, groups?: string) => ({
    'x-forwarded-user': name,
    ...(groups !== undefined && { 'x-forwarded-groups': groups }),
  });

  it.each<[string, Record<string, string>, string | number]>([
    ['by name', user('anna'), 'anna'],
    ['by name before group', user('vera', 'support'), 'vera · viewer'],
    ['by the most powerful group', user('otto', 'sales, staff, support'), 'otto · operator'],
    ['a name of the language', user('constructor'), 403],
    ['a group of the language', user('eve', 'toString,sales'), 403],
    ['several names', user('anna, eve'), 400],
    ['nobody', {}, 303],
  ])('lets in with a role, and nobody else: %s', async (_, headers, expected) => {
    expect(await seen(headers)).toBe(expected);
  });

  it('says whom it has named, as text', async () => {
    const { status, text } = await stranger(near.base).get('', user('<eve>'));
    expect(status).toBe(403);
    expect(text).toContain('The proxy names you &lt;eve&gt;, who is not let in.');
  });

  it.each([
    ['of names is refused', ['x-forwarded-user', 'eve', 'x-forwarded-user', 'anna'], 400],
    [
      'of groups counts for nothing',
      ['x-forwarded-user', 'otto', 'x-forwarded-groups', 'support', 'x-forwarded-groups', 'sales'],
      403,
    ],
  ])('when there is a second one %s', async (_, headers, status) => {
    const sent = request(near.base, { headers: ['host', '127.0.0.1', ...headers] }).end();
    const [reply] = await once(sent, 'response');
    await textOf(reply);
    expect(reply.statusCode).toBe(status);
  });

  it('works beside passwords, and changes who uses the browser at the next request', async () => {
    const byPassword = stranger(near.base);
    expect((await byPassword.signIn()).status).toBe(303);
    expect(whoIn(await byPassword.get(''))).toBe('olga');
    const visitor = stranger(near.base);
    const names = [];
    for (const name of ['anna', 'vera', 'anna']) names.push(whoIn(await visitor.get('', user(name))));
    expect(names).toEqual(['anna', 'vera · viewer', 'anna']);
    // A session of it is of no use without it.
    expect((await visitor.get('')).status).toBe(303);
  });

  it('is ignored on other connections, whatever other headers say, and logged once a minute', async () => {
    for (const more of [{}, forwardedFor('192.0.2.1'), { 'x-real-ip': '127.0.0.2' }])
      expect(await seen({ ...user('anna'), ...more }, far)).toBe(303);
    const logged = farLines.filter(({ msg }) => msg.includes('not from an address of admin.proxy'));
    expect(logged).toEqual([expect.objectContaining({ address: '127.0.0.1', header: 'x-forwarded-user' })]);
  });
});

describe('the dashboard in a parent application', () => {
  /** An application with the dashboard at `/ops`, and a visitor who has not signed in. */
  async function mounted(
    options: GatewayOptions = {},
    admin: object = {},
    before: (app: Express) => unknown = () => {},
  ): Promise<{ url: string; visitor: DashboardVisitor }> {
    const gateway = await mountable({ url: unused }, { admin } as object, options);
    const { url } = await startApp(app => {
      before(app);
      app.use('/ops', gateway.dashboard);
      app.use((_request, response) => void response.status(418).send('parent'));
    });
    return { url, visitor: new DashboardVisitor(`${url}/ops/`) };
  }
  /** As a parent application tells who is signed in there. */
  const operatorOf: GatewayOptions['operatorOf'] = ({ headers }) => headers['x-user'] as string | undefined;
  const as = (name: string) => ({ 'x-user': name });

  it('leaves its paths to the parent when no sign-in is configured', async () => {
    const { visitor } = await mounted();
    for (const page of ['', 'accounts', 'sign-in', 'assets/style.css'])
      expect(await visitor.get(page)).toMatchObject({ status: 418, text: 'parent' });
  });

  it('has its own sign-in at its mount path, relative links only, and a style at any depth', async () => {
    const { url, visitor } = await mounted({}, dashboardAdmin());
    const bare = await fetch(`${url}/ops`, { redirect: 'manual' });
    expect([bare.status, bare.headers.get('location')]).toEqual([303, 'ops/']);
    expect((await visitor.get('')).location).toBe('sign-in');
    expect((await visitor.signIn()).location).toBe('.');
    const { text } = await visitor.get('accounts');
    expect(text).toContain(operator.name);
    expect(text).not.toMatch(/(href|src|action)="\//);
    expect((await fetch(`${url}/elsewhere`)).status).toBe(418);
    for (const path of ['none', 'accounts/acme', 'a/b/']) {
      const address = `${url}/ops/${path}`;
      const missing = await fetch(address);
      const [, style = ''] = /rel="stylesheet" href="([^"]+)"/.exec(await missing.text())!;
      expect(missing.status).toBe(404);
      expect(new URL(style, address).href).toMatch(/\/ops\/assets-[\w-]{16}\/style\.css$/);
    }
  });

  it('accepts the user of the parent, names them in the audit log, and asks for no password', async () => {
    const { visitor } = await mounted({ operatorOf });
    const refused = await visitor.get('accounts');
    expect(refused).toMatchObject({
      status: 403,
      text: expect.stringContaining('You may not use this dashboard.'),
    });
    expect((await visitor.get('accounts', as('ada'))).status).toBe(200);
    // A form is taken only from the user it was made for.
    for (const headers of [as('bob'), {}])
      expect((await visitor.post('accounts', { id: 'acme' }, headers)).status).toBe(403);
    expect((await visitor.get('account?id=acme', as('ada'))).status).toBe(404);
    await visitor.get('accounts', as('ada'));
    expect((await visitor.post('accounts', { id: 'acme' }, as('ada'))).status).toBe(303);
    expect((await visitor.get('audit', as('ada'))).text).toMatch(/class="name">ada<\/td>/);
    expect((await visitor.get('sign-in', as('ada'))).status).toBe(404);
  });
});
