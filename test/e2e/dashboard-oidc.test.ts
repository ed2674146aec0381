import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { DashboardVisitor, dashboardAdmin, type Visited, whoIn } from '../support/dashboard-visitor.ts';
import { type Forgery, type ForgingProvider, startForgingProvider } from '../support/forging-provider.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type OpenidProvider, startOpenidProvider } from '../support/openid-provider.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { until } from '../support/until.ts';

const upstream = 'http://127.0.0.1:9/v1';
const running: GatewayUnderTest[] = [];
let provider: OpenidProvider;
let forging: ForgingProvider;
let place: RecordsPlace;

beforeAll(async () => {
  [provider, forging, place] = await Promise.all([
    startOpenidProvider(),
    startForgingProvider('sluice'),
    recordsPlace(),
  ]);
});
afterAll(async () => {
  await Promise.all(running.map(gateway => gateway.close()));
  await Promise.all([provider?.close(), forging?.close(), place?.remove()]);
});

type Oidc = NonNullable<NonNullable<GatewayConfig['admin']>['oidc']>;

const roles = { 'Anna@example.com': 'admin', 'vera@example.com': 'viewer' } as const;

async function dashboard(oidc: Oidc, more: object = {}): Promise<DashboardVisitor> {
  const admin = { ...dashboardAdmin(), oidc, ...more };
  const gateway = await startGateway({ upstream, config: { admin, stores: place.stores } });
  running.push(gateway);
  return new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
}

const again = ({ base }: DashboardVisitor) => new DashboardVisitor(base);

/** Follows the redirects of a provider with its cookies, up to the address below `base` to which it leads back. */
async function throughProvider(url: string, base: string): Promise<string> {
  const there = new DashboardVisitor(`${new URL(url).origin}/`);
  let at = url;
  while (!at.startsWith(base)) {
    const { location, text } = await there.get(at.slice(there.base.length));
    if (!location) throw new Error(`the provider answered ${text}`);
    at = new URL(location, at).href;
  }
  return at.slice(base.length);
}

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
    first = await dashboard({
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
    expect((await visitor.post('accounts', { id: 'typed-in' })).location).toBe('account?id=typed-in');
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
      const there = await dashboard({ ...oidc, ...settings });
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
  let place: DashboardVisitor;

  beforeAll(async () => {
    const { issuer } = forging;
    place = await dashboard({ issuer, client_id: 'sluice', roles }, { users: {} });
  });

  const finish = async (forgery: Forgery, changed: (query: string) => string = query => query) => {
    const visitor = again(place);
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
    const [attacker, victim] = [again(place), again(place)];
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
    const visitor = again(place);
    await visitor.get('sign-in-oidc');
    const { status, text } = await visitor.get('sign-in-callback?error=pay&error_description=now&state=x');
    expect(status).toBe(400);
    expect(text).not.toContain('pay');
  });

  it('is the only way in where no passwords are configured', async () => {
    const { text } = await again(place).get('sign-in');
    expect(text).toContain('href="sign-in-oidc"');
    expect(text).not.toContain('<form');
  });
});
