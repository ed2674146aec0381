import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hashPassword } from '../../src/stores/accounts/password.ts';
import {
  DashboardVisitor,
  dashboardAdmin,
  formFields,
  operator,
  password_hash,
} from '../support/dashboard-visitor.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { liveEvents } from '../support/live-events.ts';

const unused = 'http://127.0.0.1:9/v1';
const running: GatewayUnderTest[] = [];
let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(gateway => gateway.close()));
});

/** A gateway with a dashboard, and somebody who has not signed in to it. */
async function dashboard(admin: object = dashboardAdmin()): Promise<DashboardVisitor> {
  const gateway = await startGateway({ upstream: unused, config: { admin }, options: { clock } });
  running.push(gateway);
  return new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
}

const pages = [
  '',
  'accounts',
  'account?id=tester',
  'keys',
  'requests',
  'request?id=x',
  'issue',
  'issued',
  'revoke?id=key_1',
  'rotate?id=key_1',
  'audit',
];

describe('the dashboard sign-in', () => {
  it('does not exist when no operator is configured', async () => {
    const visitor = await dashboard({ port: 0 });
    for (const page of [...pages, 'sign-in', 'assets/style.css'])
      expect((await visitor.get(page)).status).toBe(404);
    expect((await fetch(visitor.base.slice(0, -1))).status).toBe(404);
  });

  it('guards every page', async () => {
    const visitor = await dashboard();
    for (const page of pages) {
      const { status, location, text } = await visitor.get(page);
      expect([page, status, location?.startsWith('sign-in'), text]).toEqual([page, 303, true, '']);
      expect([page, (await visitor.post(page, {})).status]).toEqual([page, 401]);
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
    const { status, text } = await visitor.get(entered.location!);
    expect([status, text]).toEqual([
      200,
      expect.stringMatching(new RegExp(`class="muted who">${operator.name}<`)),
    ]);

    const session = visitor.cookies.get('sluice_session')!;
    const left = await visitor.post('sign-out', formFields(text, 'Sign out'));
    expect(left.location).toBe('sign-in');
    expect(left.headers.getSetCookie()).toEqual(['sluice_session=; Max-Age=0; HttpOnly; SameSite=Strict']);
    visitor.cookies.set('sluice_session', session);
    expect((await visitor.get('keys')).status).toBe(303);
  });

  it('redirects only to pages of the dashboard', async () => {
    const visitor = await dashboard();
    for (const next of [
      'https://example.org',
      '//example.org',
      '/',
      'javascript:alert(1)',
      '..\\x',
      'keys\n',
      'keys?a\nb',
      'keys?“',
      'keys?a#b',
      'keys?\\',
    ]) {
      await visitor.get('sign-in');
      expect((await visitor.post('sign-in', { ...operator, next })).location).toBe('.');
    }
  });

  it('accepts a password hash in the configuration', async () => {
    const password_hash = await hashPassword('a very long secret');
    const visitor = await dashboard(dashboardAdmin({ users: { hana: { password_hash } } }));
    expect((await visitor.signIn('a very long secret', 'hana')).status).toBe(303);
    expect((await new DashboardVisitor(visitor.base).signIn('a very long secreT', 'hana')).status).toBe(401);
  });

  it('sets a session cookie that is HttpOnly, SameSite=Strict and, behind TLS, Secure', async () => {
    const visitor = await dashboard(dashboardAdmin({ trust_proxy: true }));
    await visitor.get('sign-in');
    const plain = await visitor.post('sign-in', operator);
    expect(plain.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^sluice_browser=[\w-]{43}; Max-Age=31536000; HttpOnly; SameSite=Strict$/),
      expect.stringMatching(/^sluice_session=[\w-]{43}; HttpOnly; SameSite=Strict$/),
    ]);
    await visitor.get('sign-in');
    const tls = await visitor.post('sign-in', operator, { 'x-forwarded-proto': 'http, https' });
    expect(tls.headers.getSetCookie()).toEqual([expect.stringMatching(/; Secure; SameSite=Strict$/)]);
  });

  it('ignores forwarded headers of an untrusted proxy', async () => {
    const visitor = await dashboard();
    await visitor.get('sign-in');
    const { headers } = await visitor.post('sign-in', operator, { 'x-forwarded-proto': 'https' });
    expect(headers.getSetCookie()[0]).not.toMatch(/Secure/);
  });
});

describe('a session', () => {
  it('expires after its idle timeout, and in any case after its maximum lifetime', async () => {
    const visitor = await dashboard(dashboardAdmin({ session_idle_ms: 60_000, session_max_ms: 150_000 }));
    await visitor.signIn();
    clock.advance(59_000);
    expect((await visitor.get('keys')).status).toBe(200);
    clock.advance(59_000);
    expect((await visitor.get('keys')).status).toBe(200);
    clock.advance(59_000);
    expect((await visitor.get('keys')).location).toBe('sign-in?next=keys');
    await visitor.signIn();
    clock.advance(60_000);
    expect((await visitor.post('accounts', { id: 'late' })).status).toBe(401);
  });

  it.each(['overview-live', 'requests-live'])(
    'is not kept alive by the stream %s of an open page',
    async page => {
      const visitor = await dashboard(dashboardAdmin({ session_idle_ms: 60_000 }));
      await visitor.signIn();
      clock.advance(40_000);
      const live = await liveEvents(visitor, page);
      expect(live.status).toBe(200);
      clock.advance(20_000);
      expect((await visitor.get('keys')).status).toBe(303);
      live.leave();
    },
  );

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
    const wrong = await visitor.post('sign-in', { ...operator, password: 'wrong', next, typed: kept });
    expect([wrong.status, wrong.text.includes('id=late')]).toEqual([401, true]);
    const resumed = await visitor.post('sign-in', { ...operator, next, typed: kept });
    expect(resumed.text).toContain('&lt;b&gt;Late &amp; Co&lt;/b&gt;');
    expect((await visitor.get('accounts')).text).not.toContain('Late');
    const sent = await visitor.post('accounts', Object.fromEntries(new URLSearchParams(kept)));
    expect(sent.location).toBe('account?id=late');
  });

  it('survives a restart of the gateway, until the password is changed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-'));
    const stores = { records: `sqlite:${join(directory, 'records.db')}` };
    const start = async (admin: object) => {
      const options = { clock };
      const gateway = await startGateway({ upstream: unused, config: { admin, stores }, options });
      return { gateway, visitor: new DashboardVisitor(`${gateway.adminUrl}/dashboard/`) };
    };
    const first = await start(dashboardAdmin());
    await first.visitor.signIn();
    await first.gateway.close();
    const second = await start(dashboardAdmin());
    const resume = (visitor: DashboardVisitor) => {
      for (const [name, value] of first.visitor.cookies) visitor.cookies.set(name, value);
      return visitor;
    };
    expect((await resume(second.visitor).get('accounts')).status).toBe(200);
    expect((await second.visitor.post('accounts', { id: 'acme' })).location).toBe('account?id=acme');
    await second.gateway.close();
    const users = { [operator.name]: { password: 'another password' } };
    const third = await start(dashboardAdmin({ users }));
    expect((await resume(third.visitor).get('accounts')).status).toBe(303);
    await third.gateway.close();
    await rm(directory, { recursive: true });
  });

  it('belongs to one browser and cannot be forged', async () => {
    const visitor = await dashboard();
    await visitor.signIn();
    const other = new DashboardVisitor(visitor.base);
    expect((await other.get('accounts')).status).toBe(303);
    other.cookies.set('sluice_session', 'A'.repeat(43));
    expect((await other.get('accounts')).status).toBe(303);
    // Neither is the cookie of the form that signs in one.
    await other.get('sign-in');
    other.cookies.set('sluice_session', other.cookies.get('sluice_sign_in')!);
    expect((await other.get('accounts')).status).toBe(303);
  });

  it('is replaced by every sign-in, which ends the previous one', async () => {
    const visitor = await dashboard();
    await visitor.signIn();
    const first = visitor.cookies.get('sluice_session')!;
    await visitor.signIn();
    expect(visitor.cookies.get('sluice_session')).not.toBe(first);
    visitor.cookies.set('sluice_session', first);
    expect((await visitor.get('keys')).status).toBe(303);
  });
});

describe('a wrong password', () => {
  it('is rejected with the same message as a wrong name', async () => {
    const visitor = await dashboard();
    const wrong = await visitor.signIn('wrong');
    const unknown = await visitor.signIn('wrong', 'nobody');
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.text).toContain('The name or the password is wrong.');
    expect(unknown.text.replaceAll('nobody', operator.name)).toBe(wrong.text);
    expect(visitor.cookies.has('sluice_session')).toBe(false);
  });

  it('delays further attempts, longer each time, including those with the right password', async () => {
    const visitor = await dashboard();
    for (let tries = 0; tries < 5; tries++) expect((await visitor.signIn('wrong')).status).toBe(401);
    const held = await visitor.signIn();
    expect([held.status, held.headers.get('retry-after')]).toEqual([429, '1']);
    expect(held.text).toContain('Try again in 1 second.');
    clock.advance(1000);
    expect((await visitor.signIn('wrong')).status).toBe(401);
    expect((await visitor.signIn()).headers.get('retry-after')).toBe('2');
    clock.advance(2000);
    expect((await visitor.signIn()).status).toBe(303);
    expect((await visitor.signIn('wrong')).status).toBe(401);
  });

  it('throttles an address that tries many names, and no other address', async () => {
    const visitor = await dashboard(dashboardAdmin({ trust_proxy: true }));
    const from = (address: string) => ({ 'x-forwarded-for': `203.0.113.9, ${address}` });
    await visitor.get('sign-in');
    for (let tries = 0; tries < 10; tries++)
      await visitor.post('sign-in', { name: `n${tries}`, password: 'wrong' }, from('198.51.100.1'));
    expect((await visitor.post('sign-in', operator, from('198.51.100.1'))).status).toBe(429);
    expect((await visitor.post('sign-in', operator, from('198.51.100.2'))).status).toBe(303);
  });

  it('counts for its address although its sender signs in with an own name between the guesses', async () => {
    const guesser = await dashboard(
      dashboardAdmin({ users: { victor: { password_hash }, [operator.name]: { password_hash } } }),
    );
    const statuses: number[] = [];
    for (let guesses = 0; guesses < 14; guesses++) {
      // Without the cookie of a browser that has signed in before, which counts by itself.
      const own = new DashboardVisitor(guesser.base);
      if (guesses % 4 === 0) expect((await own.signIn()).status).toBe(guesses < 10 ? 303 : 429);
      statuses.push((await guesser.signIn(`guess ${guesses}`, `victor ${guesses % 3}`)).status);
    }
    expect(statuses.filter(status => status === 401)).toHaveLength(10);
  });

  const from = (address: string) => ({ 'x-forwarded-for': address });
  const wrong = { ...operator, password: 'wrong' };

  it('tried from many addresses does not lock out the operator', async () => {
    const visitor = await dashboard(dashboardAdmin({ trust_proxy: true }));
    await visitor.get('sign-in');
    for (let tries = 0; tries < 6; tries++) {
      for (let host = 1; host <= 12; host++) await visitor.post('sign-in', wrong, from(`198.51.100.${host}`));
      expect((await visitor.post('sign-in', wrong, from('198.51.100.1'))).status).toBe(tries < 2 ? 401 : 429);
      const owner = new DashboardVisitor(visitor.base);
      await owner.get('sign-in');
      expect((await owner.post('sign-in', operator, from('203.0.113.7'))).status).toBe(303);
    }
  });

  it('tried from the address of an operator does not lock out a browser that has signed in before', async () => {
    const owner = await dashboard();
    await owner.signIn();
    await owner.post('sign-out', {});
    const stranger = new DashboardVisitor(owner.base);
    for (let tries = 0; tries < 12; tries++) await stranger.signIn('wrong', `name ${tries}`);
    expect((await stranger.signIn()).status).toBe(429);
    expect((await owner.signIn()).status).toBe(303);
    // Its own failures count, so that a stolen cookie is no way around the throttle.
    for (let tries = 0; tries < 5; tries++) expect((await owner.signIn('wrong')).status).toBe(401);
    expect((await owner.signIn()).status).toBe(429);
  });

  it('in a flood from many addresses does not delay a known browser', async () => {
    const owner = await dashboard(dashboardAdmin({ trust_proxy: true }));
    await owner.signIn();
    const stranger = new DashboardVisitor(owner.base);
    await stranger.get('sign-in');
    let isOver = false;
    const statuses = new Set<number>();
    const flood = Array.from({ length: 40 }, async (_, host) => {
      for (let tries = 0; !isOver && tries < 5; tries++)
        statuses.add((await stranger.post('sign-in', wrong, from(`198.51.100.${host}`))).status);
    });
    for (let tries = 0; tries < 5; tries++) expect((await owner.signIn()).status).toBe(303);
    isOver = true;
    await Promise.all(flood);
    expect(statuses).toEqual(new Set([401, 429]));
  });

  it('is throttled when many attempts arrive at once', async () => {
    const visitor = await dashboard();
    await visitor.get('sign-in');
    const tries = Array.from({ length: 30 }, () =>
      visitor.post('sign-in', { ...operator, password: 'wrong' }),
    );
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.filter(status => status === 401).length).toBeLessThanOrEqual(5);
    expect(statuses.filter(status => status === 429).length).toBeGreaterThanOrEqual(25);
  });
});
