import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, operator, password_hash } from '../support/dashboard-visitor.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';

type Users = Readonly<Record<string, { readonly role: 'admin' | 'operator' | 'viewer' }>>;

let place: RecordsPlace;
const running: GatewayUnderTest[] = [];

beforeAll(async () => {
  place = await recordsPlace();
});
afterAll(async () => {
  await Promise.all(running.map(gateway => gateway.close()));
  await place?.remove();
});

/** A gateway with these users, over the same records as the others. */
async function withUsers(users: Users): Promise<DashboardVisitor> {
  const entries = Object.entries(users).map(([name, { role }]) => [name, { password_hash, role }]);
  const gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    config: { admin: { port: 0, users: Object.fromEntries(entries) }, stores: place.stores },
  });
  running.push(gateway);
  return new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
}

/** The same browser at another gateway. */
async function moved({ cookies }: DashboardVisitor, to: DashboardVisitor): Promise<DashboardVisitor> {
  const visitor = new DashboardVisitor(to.base);
  cookies.forEach((value, name) => void visitor.cookies.set(name, value));
  return visitor;
}

describe('a session after a change of the configuration', () => {
  it('has the new role from the next request on, and ends for those who are removed', async () => {
    const before = await withUsers({ anna: { role: 'admin' }, otto: { role: 'admin' } });
    const [anna, otto] = [new DashboardVisitor(before.base), new DashboardVisitor(before.base)];
    await anna.signIn(operator.password, 'anna');
    await otto.signIn(operator.password, 'otto');
    await anna.get('accounts');

    const after = await withUsers({ anna: { role: 'viewer' } });
    const [annaThere, ottoThere] = [await moved(anna, after), await moved(otto, after)];
    annaThere.token = anna.token;
    expect((await annaThere.post('accounts', { id: 'late' })).status).toBe(403);
    expect((await annaThere.get('')).text).toContain('anna · viewer');
    expect((await ottoThere.get('keys')).status).toBe(303);
    expect((await place.look(({ accounts }) => accounts.find('late'))) ?? 'none').toBe('none');
  });
});

describe('a session that somebody else has planted', () => {
  it('is not the one that a sign-in starts, whether it exists or not', async () => {
    const home = await withUsers({ anna: { role: 'admin' }, mallory: { role: 'viewer' } });
    const mallory = new DashboardVisitor(home.base);
    await mallory.signIn(operator.password, 'mallory');
    const planted = mallory.cookies.get('sluice_session')!;
    for (const token of [planted, 'x'.repeat(43)]) {
      const victim = new DashboardVisitor(home.base);
      victim.cookies.set('sluice_session', token);
      await victim.signIn(operator.password, 'anna');
      expect(victim.cookies.get('sluice_session')).not.toBe(token);
      const thief = new DashboardVisitor(home.base);
      thief.cookies.set('sluice_session', token);
      expect((await thief.get('keys')).status).toBe(303);
    }
  });

  it('lets nobody sign in without the form of the own browser', async () => {
    const home = await withUsers({ anna: { role: 'admin' } });
    const [attacker, victim] = [new DashboardVisitor(home.base), new DashboardVisitor(home.base)];
    await attacker.get('sign-in');
    await victim.get('sign-in');
    const fields = { name: 'anna', password: operator.password, form_token: attacker.token };
    expect((await victim.post('sign-in', fields)).status).toBe(403);
    expect(victim.cookies.has('sluice_session')).toBe(false);
  });
});
