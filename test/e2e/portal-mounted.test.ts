import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccountAnswer, Gateway, GatewayOptions } from '../../src/index.ts';
import { DashboardVisitor, dashboardAdmin, operator, type Visited } from '../support/dashboard-visitor.ts';
import { startApp } from '../support/express-app.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { portalSection } from '../support/portal-visitor.ts';

afterEach(closeMounted);

const upstream = { url: 'http://127.0.0.1:9/v1' };

/** An application whose users are named by a header; the accounts of some it keeps itself. */
const accountOf: GatewayOptions['accountOf'] = ({ headers }): AccountAnswer => {
  const user = headers['x-user'] as string | undefined;
  return user?.startsWith('own-') ? { id: user, plan: 'small' } : user;
};

interface Mounted {
  readonly gateway: Gateway;
  readonly visitor: DashboardVisitor;
  /** Asks for a page as a user of the application. */
  readonly as: (user: string, page: string) => Promise<Visited>;
}

/** An application with the portal at `/my`, the dashboard at `/ops` and the API. */
async function mounted(portal: object = {}, options: GatewayOptions = { accountOf }): Promise<Mounted> {
  const sections = {
    admin: dashboardAdmin(),
    portal: portalSection({ path: '/my', ...portal }),
    plans: { small: { requests_per_minute: 10 } },
    accounts: { acme: { plan: 'small' }, rival: {} },
  };
  const gateway = await mountable(upstream, sections as object, options);
  const { url } = await startApp(app => {
    app.use('/my', gateway.portal);
    app.use('/ops', gateway.dashboard);
    app.use(gateway);
    app.use((_request, response) => void response.status(418).send('parent'));
  });
  const visitor = new DashboardVisitor(`${url}/my/`);
  return { gateway, visitor, as: (user, page) => visitor.get(page, { 'x-user': user }) };
}

describe('the portal in a parent application', () => {
  it('leaves its paths to the parent unless it is enabled, and is nowhere else', async () => {
    const { visitor } = await mounted({ enabled: false, users: {} });
    for (const page of ['', 'keys', 'sign-in', 'invitation', 'assets/style.css'])
      expect(await visitor.get(page)).toMatchObject({ status: 418, text: 'parent' });
    const enabled = await mounted({ path: '/portal' });
    const elsewhere = new DashboardVisitor(enabled.visitor.base.replace('/my/', '/portal/'));
    expect((await elsewhere.get('sign-in')).status).toBe(418);
  });

  it('shows the account that the application names, without a sign-in', async () => {
    const { as, visitor } = await mounted();
    // The application names nobody but the account, which stands there once.
    expect((await as('acme', '')).text).toMatch(/class="who"[^>]*>acme</);
    await as('acme', 'keys');
    const issued = await visitor.post('keys', { name: 'from the application' }, { 'x-user': 'acme' });
    expect(issued.status).toBe(303);
    expect((await as('acme', 'keys')).text).toContain('from the application');
    expect((await as('acme', 'history')).text).toMatch(/acme<\/td>[\s\S]*issued the key/);
    // The session of one user is none of another.
    expect((await visitor.post('keys', { name: 'forged' }, { 'x-user': 'rival' })).status).toBe(403);
    expect((await as('rival', 'keys')).text).not.toContain('from the application');
    expect((await visitor.get('')).location).toBe('sign-in');
  });

  it('says that accounts which only the application keeps have no keys', async () => {
    const { as, visitor } = await mounted();
    const { text } = await as('own-shop', 'keys');
    expect(text).toContain('Such an account has no keys here.');
    expect(text).not.toContain('<button class="primary">Issue key');
    // For the token of its form.
    await as('own-shop', 'playground');
    const refused = await visitor.post(
      'keys',
      { name: 'x', nonce: 'x'.repeat(22) },
      { 'x-user': 'own-shop' },
    );
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('has no keys here')]);
    expect((await as('own-shop', 'limits')).text).toContain('Requests per minute');
  });

  it('refuses accounts that are not there, whatever the application answers', async () => {
    const { as } = await mounted();
    for (const page of ['', 'keys', 'request?id=x']) expect((await as('nobody', page)).status).toBe(403);
    const { visitor } = await mounted(
      {},
      { accountOf: () => Promise.reject(new Error('secret of the parent')) },
    );
    const failed = await visitor.get('');
    expect([failed.status, failed.text.includes('secret')]).toEqual([502, false]);
  });

  it('has its own sign-in beside the application, with links to its mount only', async () => {
    const { visitor } = await mounted();
    expect((await visitor.signIn(operator.password, 'carla')).location).toBe('.');
    const { text } = await visitor.get('');
    expect(text).toContain('carla · acme');
    expect(text).not.toMatch(/(href|src|action)="\//);
  });

  it('is where an invitation of the dashboard leads', async () => {
    const { visitor } = await mounted();
    const olga = new DashboardVisitor(visitor.base.replace('/my/', '/ops/'));
    await olga.signIn();
    await olga.get('account?id=acme');
    const { location } = await olga.post('sign-ins?account=acme', { change: 'invite', customer: 'nina' });
    const [, link = ''] = /id="secret">([^<]+)</.exec((await olga.get(location!)).text) ?? [];
    expect(link.startsWith(`${visitor.base}invitation?token=`)).toBe(true);
    expect((await fetch(link)).status).toBe(200);
  });
});

describe('the portal of a disabled account', () => {
  it('shows everything and changes nothing', async () => {
    const { as, visitor } = await mounted();
    const olga = new DashboardVisitor(visitor.base.replace('/my/', '/ops/'));
    await olga.signIn();
    await olga.get('accounts');
    await olga.post('accounts', { id: 'late' });
    await as('late', 'keys');
    expect((await visitor.post('keys', { name: 'kept' }, { 'x-user': 'late' })).status).toBe(303);
    const [, id = ''] = /rotate\?id=(key_\w+)/.exec((await as('late', 'keys')).text) ?? [];
    await olga.get('account?id=late');
    expect((await olga.post('account?id=late', { change: 'disable' })).status).toBe(303);
    const { status, text } = await as('late', 'keys');
    expect([status, text]).toEqual([200, expect.stringContaining('Your account is disabled since')]);
    expect(text).toContain('kept');
    for (const page of ['keys', `rotate?id=${id}`, `revoke?id=${id}`]) {
      const refused = await visitor.post(page, { name: 'x', overlap: 'now' }, { 'x-user': 'late' });
      expect([page, refused.status]).toEqual([page, 403]);
    }
    expect((await as('late', 'keys')).text).toContain('active</span>');
  });
});
