import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, operator, password_hash } from '../support/dashboard-visitor.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let gateway: GatewayUnderTest;
const visitors = new Map<string, DashboardVisitor>();

beforeAll(async () => {
  const users = {
    admin: { password_hash },
    operator: { password_hash, role: 'operator' as const },
    viewer: { password_hash, role: 'viewer' as const },
  };
  gateway = await startGateway({ upstream: 'http://127.0.0.1:9/v1', config: { admin: { port: 0, users } } });
  for (const role of Object.keys(users)) {
    const visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    await visitor.signIn(operator.password, role);
    visitors.set(role, visitor);
  }
});
afterAll(() => gateway?.close());

const as = (role: string): DashboardVisitor => visitors.get(role)!;

describe('roles at the dashboard', () => {
  it('let an admin and an operator change accounts, and a viewer not', async () => {
    for (const role of ['admin', 'operator']) {
      await as(role).get('accounts');
      const made = await as(role).post('accounts', { id: `of-${role}` });
      expect([role, made.location]).toEqual([role, `account?id=of-${role}`]);
    }
    await as('viewer').get('accounts');
    const refused = await as('viewer').post('accounts', { id: 'of-viewer' });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('The role viewer may not change anything.');
    expect((await as('viewer').get('accounts')).text).not.toContain('of-viewer');
  });

  it('show the audit log to admins and viewers only', async () => {
    expect((await as('admin').get('audit')).text).toContain('created the account');
    expect((await as('viewer').get('audit')).text).toContain('signed in');
    expect((await as('operator').get('audit')).status).toBe(403);
    expect((await as('operator').get('')).text).not.toContain('href="audit"');
    expect((await as('viewer').get('')).text).toContain('href="audit"');
  });

  it('say who somebody is', async () => {
    expect((await as('viewer').get('')).text).toContain('viewer · viewer');
  });
});

describe('the sign-in log', () => {
  it('has who signed in, out and was refused, with the address', async () => {
    const visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
    await visitor.signIn('wrong', 'admin');
    await visitor.signIn(operator.password, 'viewer');
    await visitor.get('');
    await visitor.post('sign-out', {});
    const { text } = await as('admin').get('audit');
    for (const said of ['was refused to sign in', 'signed in', 'signed out', '127.0.0.1'])
      expect(text).toContain(said);
    expect(text).not.toContain('wrong');
  });
});
