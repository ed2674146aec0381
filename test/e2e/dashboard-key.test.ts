import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KeyRecord } from '../../src/stores/records/key-record.ts';
import {
  DashboardVisitor,
  dashboardAdmin,
  formFields,
  operator,
  password_hash,
} from '../support/dashboard-visitor.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const day_ms = 86_400_000;

let upstream: ScriptedUpstream;
let place: RecordsPlace;
let gateways: GatewayUnderTest[];
let visitor: DashboardVisitor;

beforeAll(async () => {
  const usage = { prompt_tokens: 60, completion_tokens: 30, total_tokens: 90 };
  upstream = await startScriptedUpstream(whole(200, completion('Hello.', {}, { usage })));
  place = await recordsPlace();
  const users = {
    [operator.name]: { password_hash },
    otto: { password_hash, role: 'operator' },
    vera: { password_hash, role: 'viewer' },
  };
  gateways = [];
  // One after the other: both bring the schema up to date.
  for (const _ of ['one', 'two'])
    gateways.push(
      await startGateway({
        upstream,
        config: { admin: dashboardAdmin({ users }), stores: place.stores } as never,
      }),
    );
  visitor = await signedIn(operator.name);
  await visitor.get('accounts');
  await visitor.post('accounts', { id: 'acme' });
});
afterAll(async () => {
  await Promise.all((gateways ?? []).map(gateway => gateway.close()));
  await place?.remove();
  await upstream?.close();
});

const homeOf = (gateway: GatewayUnderTest) => `${gateway.adminUrl}/dashboard/`;

async function signedIn(name: string): Promise<DashboardVisitor> {
  const visitor = new DashboardVisitor(homeOf(gateways[0]!));
  await visitor.signIn(operator.password, name);
  return visitor;
}

/** Issues a key for acme and returns its id and its text. */
async function issue(fields: Readonly<Record<string, string>>): Promise<{ id: string; key: string }> {
  await visitor.get('account?id=acme');
  const { location } = await visitor.post('issue?account=acme', fields);
  const { text } = await visitor.get(location!);
  const id = new URLSearchParams(location!.split('?')[1]).get('id')!;
  return { id, key: /id="secret">([^<]+)</.exec(text)![1]! };
}

const recordOf = (id: string): Promise<KeyRecord> =>
  place.look(async ({ keys }) => (await keys.find(id)) as KeyRecord);

const statusOf = async (key: string) =>
  (await gateways[0]!.post(ask('Hi'), { headers: { authorization: `Bearer ${key}` } })).status;

/** The fields of the form that changes a key, as the page shows them. */
async function fieldsOf(of: DashboardVisitor, id: string): Promise<Record<string, string>> {
  const { text } = await of.get(`key?id=${id}`);
  const inputs = text.matchAll(
    /<input (?:id="[^"]*" )?name="(name|expires_at|\w+_per_\w+|\w+_requests)" value="([^"]*)"/g,
  );
  return { expires: 'keep', ...Object.fromEntries([...inputs].map(([, name, value]) => [name, value])) };
}

describe('the page of a key', () => {
  it('shows limits as bars, use, and what was issued with an exact expiry and limits', async () => {
    const { id, key } = await issue({
      name: 'exact',
      expires: 'at',
      expires_at: '2099-01-31T18:00',
      requests_per_minute: '2',
      usd_per_month: '0.50',
    });
    expect(await recordOf(id)).toMatchObject({
      name: 'exact',
      expires_ms: Date.parse('2099-01-31T18:00Z'),
      limits: { requests_per_minute: 2, usd_per_month: '0.50' },
    });
    expect([await statusOf(key), await statusOf(key), await statusOf(key)]).toEqual([200, 200, 429]);
    await until(async () => (await visitor.get(`key?id=${id}`)).text.includes('1 refused'));
    const { text } = await visitor.get(`key?id=${id}`);
    for (const part of [
      '<strong>2</strong> of 2',
      'of $0.50',
      '2099-01-31</span> 18:00',
      '180 today',
      'issued the key',
    ])
      expect(text).toContain(part);
    expect(text).toContain(`href="requests?key=${id}"`);
    expect((await visitor.get('keys')).text).toContain(`href="key?id=${id}"`);
  });

  it('changes name, expiry and limits, and records what was there before', async () => {
    const { id } = await issue({ name: 'first name', requests_per_minute: '5' });
    const fields = await fieldsOf(visitor, id);
    const set = { name: 'second name', expires: 'week', requests_per_minute: '', tokens_per_day: '900' };
    const sent = await visitor.post(`key?id=${id}`, { ...fields, ...set });
    expect(sent).toMatchObject({ status: 303, location: `key?id=${id}` });
    const changed = await recordOf(id);
    expect(changed).toMatchObject({ name: 'second name', limits: { tokens_per_day: 900 } });
    expect(changed.expires_ms! - Date.now()).toBeGreaterThan(6 * day_ms);
    const { text } = await visitor.get(`key?id=${id}`);
    for (const line of [
      'The key is changed',
      'name: first name → second name',
      'expires: never → ',
      'Requests per minute: 5 → not limited',
      'Tokens per day: not limited → 900',
    ])
      expect(text).toContain(line);
    // What was not touched stays, to the millisecond.
    await visitor.post(`key?id=${id}`, { ...(await fieldsOf(visitor, id)), name: 'third name' });
    expect(await recordOf(id)).toEqual({ ...changed, name: 'third name' });
  });

  it('keeps what two people have edited, and shows what both have', async () => {
    const { id } = await issue({ name: 'shared', requests_per_minute: '5' });
    const page = `key?id=${id}`;
    const { text } = await visitor.get(page);
    const { form_token: _, ...fields } = formFields(text, 'Save changes');
    const otto = await signedIn('otto');
    await otto.get(page);
    await otto.post(page, { ...fields, expires: 'week', requests_per_minute: '6' });
    const { expires_ms } = await recordOf(id);
    expect((await visitor.post(page, { ...fields, name: 'named' })).status).toBe(303);
    const conflict = await visitor.post(page, {
      ...fields,
      expires: 'month',
      requests_per_minute: '7',
      tokens_per_day: '9',
    });
    expect(conflict.status).toBe(409);
    expect(conflict.text).toContain('Changed meanwhile from “5” to “6”.');
    expect(conflict.text).toContain(
      `Changed meanwhile from “never” to “${new Date(expires_ms!).toISOString()}”.`,
    );
    expect(await recordOf(id)).toMatchObject({
      name: 'named',
      expires_ms,
      limits: { requests_per_minute: 6 },
    });
    const again = formFields(conflict.text, 'Save changes');
    expect(again).toMatchObject({ name: 'named', expires: 'month', requests_per_minute: '7' });
    expect((await visitor.post(page, { ...again, expires: 'keep' })).status).toBe(303);
    const limits = { requests_per_minute: 7, tokens_per_day: 9 };
    expect(await recordOf(id)).toMatchObject({ name: 'named', expires_ms, limits });
  });

  it('says what is wrong with which field, and keeps what was typed', async () => {
    const { id } = await issue({ name: 'typed' });
    const fields = await fieldsOf(visitor, id);
    const refused = async (more: Record<string, string>) => {
      const { status, text } = await visitor.post(`key?id=${id}`, { ...fields, ...more });
      return `${status} ${[...text.matchAll(/<span class="fault"[^>]*>([^<]+)/g)].map(([, fault]) => fault)}`;
    };
    expect(await refused({ requests_per_minute: '-1' })).toMatch(/^422 .+/);
    expect(await refused({ expires: 'at', expires_at: '2001-01-01T00:00' })).toBe(
      '422 This time has passed already.',
    );
    expect(await refused({ expires: 'at', expires_at: '2099-02-31T00:00' })).toMatch(/^422 Enter a day/);
    expect(await refused({ expires: 'someday' })).toMatch(/^422 “someday” is not a lifetime/);
    expect(await refused({ name: 'x'.repeat(201) })).toMatch(/^422 A name has 200/);
    const { text } = await visitor.post(`key?id=${id}`, { ...fields, requests_per_minute: 'many' });
    expect(text).toContain('value="many"');
    expect((await recordOf(id)).limits).toEqual({});
  });

  it('offers no form for a key that has ended, and refuses one that is sent all the same', async () => {
    const { id } = await issue({ name: 'ended' });
    const fields = await fieldsOf(visitor, id);
    await visitor.post(`revoke?id=${id}`, {});
    expect((await visitor.post(`key?id=${id}`, fields)).status).toBe(409);
    const { text } = await visitor.get(`key?id=${id}`);
    expect([text.includes('Save changes'), text.includes('revoked</span>')]).toEqual([false, true]);
    expect((await visitor.get('key?id=key_none')).status).toBe(404);
  });

  it('shows no money to an operator without it, who cannot erase or set a limit in dollars', async () => {
    const { id } = await issue({ name: 'priced', requests_per_minute: '7', usd_per_month: '12.5' });
    const otto = await signedIn('otto');
    const { text } = await otto.get(`key?id=${id}`);
    expect([text.includes('Requests per minute'), /dollars|\$|>Cost/i.test(text)]).toEqual([true, false]);
    const fields = await fieldsOf(otto, id);
    expect(Object.keys(fields)).not.toContain('usd_per_month');
    await otto.post(`key?id=${id}`, { ...fields, requests_per_minute: '8', usd_per_month: '9000' });
    expect((await recordOf(id)).limits).toEqual({ usd_per_month: 12.5, requests_per_minute: 8 });
    for (const page of ['keys', 'account?id=acme'])
      expect(/dollars|\$|>Cost/i.test((await otto.get(page)).text)).toBe(false);
    const { id: priced } = await issue({ name: 'only priced', usd_per_month: '12.5' });
    expect((await otto.get(`key?id=${priced}`)).text).toContain('Not limited, but for amounts of money.');
  });

  it('lets a viewer see it and change nothing', async () => {
    const { id } = await issue({ name: 'watched', usd_per_month: '3' });
    const vera = await signedIn('vera');
    const { text } = await vera.get(`key?id=${id}`);
    expect([text.includes('of $3.00'), text.includes('Save changes'), text.includes('Revoke…')]).toEqual([
      true,
      false,
      false,
    ]);
    expect((await vera.post(`key?id=${id}`, { name: 'taken' })).status).toBe(403);
    for (const page of ['rotate', 'revoke']) expect((await vera.get(`${page}?id=${id}`)).status).toBe(403);
    expect((await vera.get('keys')).text).not.toContain('Revoke chosen keys');
    expect((await recordOf(id)).name).toBe('watched');
  });
});

describe('a form that is sent to two instances', () => {
  it('issues one key, and rotates a key once', async () => {
    await visitor.get('account?id=acme');
    const { token, nonce } = visitor;
    const other = new DashboardVisitor(homeOf(gateways[1]!));
    for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
    const before = await place.look(({ keys }) => keys.count());
    const both = (page: string, fields: Record<string, string>) =>
      Promise.all([visitor, other].map(each => each.post(page, fields)));
    const sent = await both('issue?account=acme', { form_token: token, nonce, name: 'two instances' });
    expect(sent.map(({ status }) => status)).toEqual([303, 303]);
    const ids = sent.map(({ location }) => new URLSearchParams(location!.split('?')[1]).get('id'));
    expect(ids[0]).toBe(ids[1]);
    await visitor.get(`rotate?id=${ids[0]}`);
    const form = { form_token: visitor.token, nonce: visitor.nonce, overlap: 'week' };
    const rotated = await both(`rotate?id=${ids[0]}`, form);
    expect(rotated.map(({ status }) => status)).toEqual([303, 303]);
    expect(await place.look(({ keys }) => keys.count())).toBe(before + 2);
  });
});
