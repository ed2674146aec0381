import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, dashboardAdmin } from '../support/dashboard-visitor.ts';
import { type ForgingProvider, startForgingProvider } from '../support/forging-provider.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { portalSection } from '../support/portal-visitor.ts';

let provider: ForgingProvider;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  provider = await startForgingProvider('portal');
  const oidc = {
    issuer: provider.issuer,
    client_id: 'portal',
    accounts: { 'anna@example.com': 'acme' },
    account_claim: 'tenant.id',
  };
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    config: {
      admin: dashboardAdmin(),
      portal: portalSection({ oidc }),
      accounts: { acme: {}, rival: {} },
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await provider?.close();
});

async function signedIn(claims: object): Promise<{ status: number; visitor: DashboardVisitor }> {
  const visitor = new DashboardVisitor(`${gateway.url}/portal/`);
  const { location } = await visitor.get('sign-in-oidc');
  provider.forgery = { claims: { email_verified: true, ...claims } };
  const { status } = await visitor.get(`sign-in-callback?${provider.comeBack(location!)}`);
  return { status, visitor };
}

describe('sign-in at the portal by OpenID', () => {
  it('is offered beside passwords', async () => {
    const { text } = await new DashboardVisitor(`${gateway.url}/portal/`).get('sign-in');
    expect(text).toContain('href="sign-in-oidc"');
    expect(text).toContain('name="password"');
  });

  it('shows the account of the name, or that of the claim', async () => {
    const named = await signedIn({ email: 'Anna@example.com', tenant: { id: 'rival' } });
    expect((await named.visitor.get('')).text).toContain('acme');
    const claimed = await signedIn({ email: 'rita@example.com', tenant: { id: 'rival' } });
    const { text } = await claimed.visitor.get('');
    expect(text).toContain('rival');
    expect(text).not.toContain('acme');
  });

  it('lets nobody in without an account, with several, or with one that does not exist', async () => {
    const email = 'eve@example.com';
    expect((await signedIn({ email })).status).toBe(403);
    expect((await signedIn({ email, tenant: { id: ['acme', 'rival'] } })).status).toBe(403);
    expect((await signedIn({ email, tenant: { id: '' } })).status).toBe(403);
    const { visitor } = await signedIn({ email, tenant: { id: 'gone' } });
    expect((await visitor.get('')).status).toBe(403);
  });

  it('is worth nothing at the dashboard', async () => {
    const { visitor } = await signedIn({ email: 'anna@example.com' });
    const dashboard = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    dashboard.cookies.set('sluice_session', visitor.cookies.get('sluice_portal_session')!);
    expect((await dashboard.get('keys')).status).toBe(303);
    expect((await dashboard.get('sign-in-oidc')).status).toBe(404);
  });
});
