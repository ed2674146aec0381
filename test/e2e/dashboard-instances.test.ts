import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, dashboardAdmin, operator } from '../support/dashboard-visitor.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

/** Said in the documents: a change reaches every instance within this. */
const bound_ms = 5000;

let postgres: PostgresServer;
let upstream: ScriptedUpstream;
let place: RecordsPlace;
let gateways: GatewayUnderTest[];
let visitors: DashboardVisitor[];

beforeAll(async () => {
  postgres = await startPostgres();
  upstream = await startScriptedUpstream(whole(200, completion('Hello.')));
  place = await recordsPlace(postgres.url);
  const config = {
    admin: dashboardAdmin(),
    stores: place.stores,
    plans: { small: { requests_per_minute: 2 }, large: { requests_per_minute: 1000 } },
  };
  gateways = await Promise.all(['one', 'two'].map(() => startGateway({ upstream, config })));
  visitors = gateways.map(({ adminUrl }) => new DashboardVisitor(`${adminUrl}/dashboard/`));
  for (const visitor of visitors) await visitor.signIn();
}, 60_000);
afterAll(async () => {
  await Promise.all((gateways ?? []).map(gateway => gateway.close()));
  await place?.remove();
  await upstream?.close();
  await postgres?.stop();
});

const statusAt = async (gateway: GatewayUnderTest, key: string): Promise<number> => {
  const reply = await gateway.post(ask('Hello'), { headers: { authorization: `Bearer ${key}` } });
  await reply.arrayBuffer();
  return reply.status;
};

async function untilStatus(gateway: GatewayUnderTest, key: string, status: number): Promise<void> {
  const since_ms = performance.now();
  while ((await statusAt(gateway, key)) !== status) {
    expect(performance.now() - since_ms).toBeLessThan(bound_ms);
    await sleep(50);
  }
}

describe('the dashboards of two instances with one Postgres', () => {
  it('share accounts and keys: a change in one takes effect in the other', async () => {
    const [here, there] = visitors as [DashboardVisitor, DashboardVisitor];
    await here.get('accounts');
    expect((await here.post('accounts', { id: 'acme', plan: 'small' })).location).toBe('account?id=acme');
    await here.get('account?id=acme');
    const issued = await here.post('issue?account=acme', { name: 'shared', expires: 'month' });
    const [, key = ''] = /id="secret">([^<]+)</.exec((await here.get(issued.location!)).text) ?? [];
    expect([await statusAt(gateways[0]!, key), await statusAt(gateways[1]!, key)]).toEqual([200, 200]);
    expect((await there.get('keys?search=shared')).text).toContain('1 active key');

    await there.get('account?id=acme');
    expect((await there.post('account?id=acme', { plan: 'large' })).status).toBe(303);
    expect([await statusAt(gateways[1]!, key), await statusAt(gateways[1]!, key)]).toEqual([200, 200]);
    await statusAt(gateways[0]!, key);
    await untilStatus(gateways[0]!, key, 200);

    const id = new URLSearchParams(issued.location!.split('?')[1]).get('id')!;
    await there.get(`revoke?id=${id}`);
    expect((await there.post(`revoke?id=${id}`, {})).location).toBe('account?id=acme');
    expect(await statusAt(gateways[1]!, key)).toBe(401);
    await untilStatus(gateways[0]!, key, 401);
    expect((await here.get('account?id=acme')).text).toContain('This account has no active key.');
    expect((await here.get('keys?all=yes')).text).toContain('<span class="state bad">revoked</span>');
  });

  it('reject invalid changes with a readable message', async () => {
    const [here] = visitors as [DashboardVisitor];
    await here.get('accounts');
    const refused = async (page: string, fields: Record<string, string>) => {
      const { status, text } = await here.post(page, fields);
      return [status, /role="alert">([^<]+)</.exec(text)?.[1] ?? /<h1>([^<]+)</.exec(text)?.[1]];
    };
    expect(await refused('accounts', { id: 'acme' })).toEqual([422, 'There is an account “acme” already.']);
    expect(await refused('accounts', { id: 'tester' })).toEqual([
      422,
      'The configuration has an account “tester” already.',
    ]);
    expect(await refused('accounts', { id: 'new', plan: 'huge' })).toEqual([
      422,
      'There is no plan “huge” in the configuration.',
    ]);
    expect(await refused('accounts', { id: ' ' })).toEqual([
      422,
      expect.stringContaining('A name begins with a letter or digit'),
    ]);
    expect(await refused('account?id=tester', { plan: 'small' })).toEqual([
      422,
      'This account is changed in the configuration file.',
    ]);
    expect(await refused('account?id=acme', { plan: 'huge' })).toEqual([
      422,
      'There is no plan “huge” in the configuration.',
    ]);
    expect(await refused('issue?account=nobody', { name: 'x' })).toEqual([
      404,
      'There is no account “nobody”.',
    ]);
    expect(await refused('issue?account=acme', { expires: 'later' })).toEqual([
      422,
      '“later” is not a lifetime of keys.',
    ]);
    for (const name of ['x'.repeat(201), 'a\0b'])
      expect(await refused('issue?account=acme', { name })).toEqual([
        422,
        'A name has 200 characters at most, none of them control characters.',
      ]);
    expect((await here.get('keys?search=%00')).status).toBe(422);
    expect(await refused('revoke?id=key_none', {})).toEqual([404, 'There is no such key.']);
  });

  it('share sessions: who signs in at one is signed in at both, until signing out at either', async () => {
    const [here, there] = visitors.map(({ base }) => new DashboardVisitor(base)) as [
      DashboardVisitor,
      DashboardVisitor,
    ];
    const bring = () => here.cookies.forEach((value, name) => void there.cookies.set(name, value));
    await here.signIn();
    bring();
    expect((await there.get('keys')).text).toContain(operator.name);

    await here.get('account?id=tester');
    const { location } = await here.post('issue?account=tester', { name: 'seen there', expires: 'month' });
    const [sealed = ''] = [...here.cookies.keys()].filter(name => name.startsWith('sluice_key'));
    const value = here.cookies.get(sealed)!;
    bring();
    const changed = value[40] === 'A' ? 'B' : 'A';
    there.cookies.set(sealed, value.slice(0, 40) + changed + value.slice(41));
    expect((await there.get(location!)).text).toContain('A key is shown once');
    there.cookies.set(sealed, value);
    expect((await there.get(location!)).text).toMatch(/id="secret">sk-sluice-[^<]+</);

    expect((await there.post('sign-out', {})).location).toBe('sign-in');
    expect((await here.get('keys')).status).toBe(303);
  });

  it('report a store outage and change nothing', async () => {
    await postgres.stop();
    const [here] = visitors as [DashboardVisitor];
    for (const page of ['accounts', 'account?id=acme', 'keys', 'audit']) {
      const { status, text } = await here.get(page);
      expect([page, status, text]).toEqual([
        page,
        503,
        expect.stringContaining('The records store does not answer.'),
      ]);
    }
    // Of an account of the configuration only the keys are in the store.
    expect((await here.post('accounts', { id: 'late' })).status).toBe(503);
    // The session would go on when the store is back, and at the other instance.
    const still = await here.post('sign-out', {});
    expect([still.status, still.text]).toEqual([503, expect.stringContaining('Nothing has been changed.')]);
  });
});
