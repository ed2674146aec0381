import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, dashboardAdmin, formFields, operator } from '../support/dashboard-visitor.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { portalSection } from '../support/portal-visitor.ts';

const day_ms = 86_400_000;
const password = 'a long new password';
const clock = new FakeClock();
let gateway: GatewayUnderTest;
let olga: DashboardVisitor;

beforeAll(async () => {
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9/v1',
    config: {
      admin: dashboardAdmin({ session_idle_ms: 100 * day_ms, session_max_ms: 100 * day_ms }),
      portal: portalSection({ trust_proxy: true }),
      accounts: { acme: {}, rival: {} },
    },
    options: { clock },
  });
  olga = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await olga.signIn();
});
afterAll(() => gateway?.close());

const stranger = () => new DashboardVisitor(`${gateway.url}/portal/`);

/** Invites somebody. Returns the path of the invitation below the portal, with its token. */
async function invited(customer: string, account = 'acme'): Promise<string> {
  await olga.get(`account?id=${account}`);
  const { location } = await olga.post(`sign-ins?account=${account}`, { change: 'invite', customer });
  const { text } = await olga.get(location!);
  const [, link = ''] = /id="secret">([^<]+)</.exec(text) ?? [];
  expect(link).toMatch(new RegExp(`^${gateway.url}/portal/invitation\\?token=[\\w-]{43}$`));
  expect((await olga.get(location!)).text).not.toContain(link);
  return link.slice(`${gateway.url}/portal/`.length);
}

async function accepted(path: string, fields: object = {}) {
  const visitor = stranger();
  await visitor.get('sign-in');
  await visitor.get(path);
  const token = path.split('=')[1]!;
  const answer = await visitor.post('invitation', {
    token,
    password,
    repeated_password: password,
    ...fields,
  });
  return { visitor, answer };
}

describe('an invitation to the portal', () => {
  it('lets its customer choose a password and in, once', async () => {
    const path = await invited('Cora@example.org');
    const { visitor, answer } = await accepted(path);
    expect([answer.status, answer.location]).toEqual([303, '.']);
    expect((await visitor.get('')).text).toContain('Cora@example.org · acme');
    expect((await stranger().get(path)).status).toBe(404);
    expect(
      (await accepted(path, { password: `${password}!`, repeated_password: `${password}!` })).answer.status,
    ).toBe(404);
    expect((await stranger().signIn(password, 'cora@EXAMPLE.org')).location).toBe('.');
    expect((await olga.get('account?id=acme')).text).toContain('Cora@example.org');
    const { text } = await olga.get('audit');
    expect(text).toMatch(/portal:Cora@example.org[\s\S]*accepted an invitation/);
    expect(text).not.toContain(path.split('=')[1]);
  });

  it('asks for a password of 12 characters, twice the same', async () => {
    const path = await invited('sven');
    for (const [fields, said] of [
      [{ password: 'short', repeated_password: 'short' }, 'it must have at least 12'],
      [{ repeated_password: 'another password' }, 'The two passwords are not the same.'],
    ] as const) {
      const { answer } = await accepted(path, fields);
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(said)]);
    }
    expect((await accepted(path)).answer.status).toBe(303);
  });

  it('ends after seven days, and when the customer is invited again', async () => {
    const first = await invited('nils');
    const second = await invited('nils');
    expect((await stranger().get(first)).status).toBe(404);
    clock.advance(7 * day_ms - 1000);
    expect((await stranger().get(second)).status).toBe(200);
    clock.advance(1000);
    expect((await stranger().get(second)).status).toBe(404);
    expect((await stranger().signIn(password, 'nils')).status).toBe(401);
  });

  it('cannot be guessed, and tells nothing of one that has ended', async () => {
    const used = await invited('paula');
    await accepted(used);
    const from = { 'x-forwarded-for': '203.0.113.9' };
    const answers = [];
    for (const path of [
      used,
      `invitation?token=${'x'.repeat(43)}`,
      'invitation',
      ...Array(4).fill('invitation?token=y'),
    ])
      answers.push(await stranger().get(path, from));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 429, 429]);
    expect(new Set(answers.slice(0, 5).map(({ text }) => text)).size).toBe(1);
  });

  it('can be accepted while strangers at the same address guess others', async () => {
    const path = await invited('vera');
    const from = { 'x-forwarded-for': '203.0.113.10' };
    const guessed = await Promise.all(
      Array(30)
        .fill(0)
        .map(() => stranger().get('invitation?token=y', from)),
    );
    expect(guessed.at(-1)!.status).toBe(429);
    expect((await stranger().get(path, from)).status).toBe(200);
    expect((await accepted(path)).answer.status).toBe(303);
  });

  it('is accepted once of many times together, of which few are waited for', async () => {
    const path = await invited('many');
    const visitor = stranger();
    await visitor.get(path);
    const fields = { token: path.split('=')[1]!, password, repeated_password: password };
    const answers = await Promise.all(
      Array(24)
        .fill(0)
        .map(() => visitor.post('invitation', fields)),
    );
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect(statuses.get(303)).toHaveLength(1);
    expect(statuses.get(503)!.length).toBeGreaterThan(0);
    expect([...statuses.keys()].sort()).toEqual([303, 404, 503].filter(status => statuses.has(status)));
  });

  it('needs the form of its own page', async () => {
    const path = await invited('zoe');
    const fields = { token: path.split('=')[1]!, password, repeated_password: password };
    expect((await stranger().post('invitation', fields)).status).toBe(403);
    const visitor = stranger();
    await visitor.get(path);
    expect((await visitor.post('invitation', fields, { origin: 'https://example.org' })).status).toBe(403);
    expect((await accepted(path)).answer.status).toBe(303);
  });

  it('is refused for a name that is taken, in any case', async () => {
    await invited('rita', 'rival');
    for (const customer of ['Rita', 'CARLA', '', 'x'.repeat(129)]) {
      await olga.get('account?id=acme');
      const refused = await olga.post('sign-ins?account=acme', { change: 'invite', customer });
      expect([customer, refused.status]).toEqual([customer, 422]);
    }
    expect((await olga.get('account?id=acme')).text).not.toContain('Rita');
  });

  it('is not sent, nor a sign-in removed, by a page that another person has outdated', async () => {
    const page = 'sign-ins?account=acme';
    const shown = async () => (await olga.get('account?id=acme')).text;
    const send = (fields: Record<string, string>, change: string, more = {}) =>
      olga.post(page, { ...fields, change, ...more });
    const empty = formFields(await shown(), 'Invite to the portal');
    const path = await invited('dora');
    const first = await send(empty, 'invite', { customer: 'dora' });
    expect([first.status, first.text]).toEqual([
      409,
      expect.stringContaining('the sign-in of dora is not as your page has shown it'),
    ]);
    const asInvited = formFields(first.text, 'Remove: dora');
    await accepted(path);
    for (const change of ['invite', 'remove']) expect((await send(asInvited, change)).status).toBe(409);
    expect((await stranger().signIn(password, 'dora')).location).toBe('.');
    expect((await send(formFields(await shown(), 'Remove: dora'), 'remove')).status).toBe(303);
    expect(await shown()).not.toContain('Remove: dora');
  });

  it('is made by those who may change something only, and only for accounts that are there', async () => {
    await olga.get('account?id=acme');
    const unknown = await olga.post('sign-ins?account=nobody', { change: 'invite', customer: 'x' });
    expect(unknown.status).toBe(404);
  });
});

describe('the sign-in of a customer', () => {
  it('ends with its sessions when it is removed, and not those of others', async () => {
    const { visitor } = await accepted(await invited('rosa'));
    const { visitor: other } = await accepted(await invited('otto'));
    await olga.get('account?id=acme');
    // Of another account it is not removed.
    await olga.post('sign-ins?account=rival', { change: 'remove', customer: 'rosa' });
    expect((await visitor.get('')).status).toBe(200);
    await olga.post('sign-ins?account=acme', { change: 'remove', customer: 'rosa' });
    expect((await visitor.get('')).location).toBe('sign-in');
    expect((await stranger().signIn(password, 'rosa')).status).toBe(401);
    expect((await other.get('')).status).toBe(200);
  });

  it('takes a new password for the present one, and ends the other sessions', async () => {
    const { visitor } = await accepted(await invited('ines'));
    const elsewhere = stranger();
    await elsewhere.signIn(password, 'ines');
    const next = 'quite another password';
    const fields = { password: next, repeated_password: next };
    await visitor.get('password');
    const wrong = await visitor.post('password', { ...fields, present_password: 'wrong' });
    expect([wrong.status, wrong.text]).toEqual([
      422,
      expect.stringContaining('The current password is wrong.'),
    ]);
    const changed = await visitor.post('password', { ...fields, present_password: password });
    expect(changed.location).toBe('password');
    expect((await visitor.get('password')).text).toContain('Your password is changed.');
    expect((await elsewhere.get('')).location).toBe('sign-in');
    expect((await stranger().signIn(password, 'ines')).status).toBe(401);
    expect((await stranger().signIn(next, 'ines')).location).toBe('.');
  });

  it('is slowed down for wrong present passwords as at the sign-in, whose attempts count together', async () => {
    const { visitor } = await accepted(await invited('greta'));
    visitor.cookies.delete('sluice_portal_browser');
    const next = { password: `${password}!`, repeated_password: `${password}!` };
    await visitor.get('password');
    const from = { 'x-forwarded-for': '203.0.113.11' };
    const confirm = async (present_password: string) =>
      /role="alert">([^<]+)</.exec(
        (await visitor.post('password', { ...next, present_password }, from)).text,
      )?.[1];
    const said = [];
    for (const guess of ['a', 'b', 'c', 'd']) said.push(await confirm(guess));
    const guesser = stranger();
    await guesser.get('sign-in');
    const signIn = () => guesser.post('sign-in', { name: 'Greta', password: 'e' }, from);
    expect((await signIn()).status).toBe(401);
    expect([...said, await confirm(password)]).toEqual([
      ...Array(4).fill('The current password is wrong.'),
      'Too many attempts. Try again in 1 second.',
    ]);
    clock.advance(1000);
    expect(await confirm('f')).toBe('The current password is wrong.');
    expect((await signIn()).status).toBe(429);
    expect((await olga.get('audit')).text).toMatch(/portal:greta[\s\S]*was refused/);
    clock.advance(2000);
    expect(await confirm(password)).toBeUndefined();
    expect((await stranger().signIn(next.password, 'greta')).location).toBe('.');
  });

  it('of the configuration is not changed at the portal', async () => {
    const visitor = stranger();
    await visitor.signIn(operator.password, 'carla');
    expect((await visitor.get('password')).text).toContain('whoever runs this service changes it');
    const fields = { present_password: operator.password, password, repeated_password: password };
    expect((await visitor.post('password', fields)).status).toBe(422);
  });
});
