import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KeyRecord } from '../../src/records/key-records.ts';
import {
  DashboardVisitor,
  dashboardAdmin,
  formFields,
  linkIn,
  operator,
  operatorAt,
  password_hash,
  secretIn,
} from '../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

/** Keys as they are issued, found, changed, rotated and revoked, at two instances with one SQLite file. */

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
    otto: { password_hash },
  };
  const config = { admin: dashboardAdmin({ users }), stores: place.stores };
  gateways = [];
  // One after the other: both bring the schema up to date.
  for (const _ of ['one', 'two']) gateways.push(await startGateway({ upstream, config } as never));
  visitor = await operatorAt(gateways[0]!);
  await newAccount('acme');
});
afterAll(async () => {
  await Promise.all((gateways ?? []).map(gateway => gateway.close()));
  await place?.remove();
  await upstream?.close();
});

async function newAccount(id: string): Promise<string> {
  await visitor.submit('accounts', { id });
  return id;
}
/** Issues a key for acme. */
const issue = (fields: Readonly<Record<string, string>>) => visitor.issue('acme', fields);
const recordOf = (id: string): Promise<KeyRecord> =>
  place.look(async ({ keys }) => (await keys.find(id)) as KeyRecord);
const statusOf = async (key: string) =>
  (await gateways[0]!.post(ask('Hi'), { headers: { authorization: `Bearer ${key}` } })).status;
const keysIn = (account: string) => place.look(({ keys }) => keys.count({ account }));
const idIn = (location: string | undefined) => new URLSearchParams(location!.split('?')[1]).get('id')!;

/** The fields of the form that changes a key, as the page shows them. */
async function fieldsOf(of: DashboardVisitor, id: string): Promise<Record<string, string>> {
  const { form_token: _, ...fields } = formFields((await of.get(`key?id=${id}`)).text, 'Save changes');
  return fields;
}

describe('the form that issues a key', () => {
  it('issues one key when it is sent twice at once, and shows it once for each time it was sent', async () => {
    const account = await newAccount('double-click');
    await visitor.get(`account?id=${account}`);
    const send = () => visitor.post(`issue?account=${account}`, { name: 'twice' });
    const sent = await Promise.all([send(), send()]);
    expect(await keysIn(account)).toBe(1);
    const shown = await Promise.all(sent.map(({ location }) => visitor.secretAt(location)));
    expect(shown).toEqual([expect.stringMatching(/^sk-sluice-[\w-]{49}$/), shown[0]]);
    for (const { location } of sent)
      expect((await visitor.get(location!)).text).toContain('A key is shown once');
  });

  it('issues a key for each tab and shows both, in whatever order', async () => {
    const account = await newAccount('two-tabs');
    const nonces: string[] = [];
    for (const _ of ['one', 'two']) {
      await visitor.get(`account?id=${account}`);
      nonces.push(visitor.nonce);
    }
    const locations: (string | undefined)[] = [];
    for (const nonce of nonces)
      locations.push((await visitor.post(`issue?account=${account}`, { nonce })).location);
    const shown: string[] = [];
    for (const location of locations.toReversed()) shown.push(await visitor.secretAt(location));
    expect(shown).toEqual([expect.stringMatching(/^sk-/), expect.stringMatching(/^sk-/)]);
    expect(shown[0]).not.toBe(shown[1]);
    expect(await keysIn(account)).toBe(2);
  });

  it('issues nothing when it is sent again with other content, and is shown again for another key', async () => {
    const account = await newAccount('changed-form');
    await visitor.get(`account?id=${account}`);
    const path = `issue?account=${account}`;
    await visitor.post(path, { name: 'one' });
    const changed = await visitor.post(path, { name: 'two' });
    expect([changed.status, changed.text, await keysIn(account)]).toEqual([
      422,
      expect.stringContaining('has issued a key already'),
      1,
    ]);
    expect((await visitor.post(path, { name: 'two' })).status).toBe(303);
    expect(await keysIn(account)).toBe(2);
  });

  it('issues nothing without a nonce, and shows no secret for a link of another key or session', async () => {
    const account = await newAccount('no-nonce');
    await visitor.get(`account?id=${account}`);
    for (const nonce of ['', 'x', 'A'.repeat(23)])
      expect((await visitor.post(`issue?account=${account}`, { nonce })).status).toBe(400);
    expect(await keysIn(account)).toBe(0);
    await visitor.get(`account?id=${account}`);
    const { location } = await visitor.post(`issue?account=${account}`, { name: 'private' });
    expect(secretIn(await (await operatorAt(gateways[0]!)).get(location!))).toBeUndefined();
    expect(await visitor.secretAt(location!.replace(/&show=.*/, ''))).toBe('');
    expect(await visitor.secretAt(location)).toMatch(/^sk-/);
  });

  it('issues one key when it is sent to two instances, as a rotation is made once', async () => {
    await visitor.get('account?id=acme');
    const { token, nonce } = visitor;
    const other = visitor.movedTo(`${gateways[1]!.adminUrl}/dashboard/`);
    const before = await place.look(({ keys }) => keys.count());
    const both = (page: string, fields: Record<string, string>) =>
      Promise.all([visitor, other].map(each => each.post(page, fields)));
    const sent = await both('issue?account=acme', { form_token: token, nonce, name: 'two instances' });
    const [one, two] = sent.map(({ location }) => idIn(location));
    expect([...sent.map(({ status }) => status), one]).toEqual([303, 303, two]);
    await visitor.get(`rotate?id=${one}`);
    const form = { form_token: visitor.token, nonce: visitor.nonce, overlap: 'week' };
    const rotated = await both(`rotate?id=${one}`, form);
    expect(rotated.map(({ status }) => status)).toEqual([303, 303]);
    expect(await place.look(({ keys }) => keys.count())).toBe(before + 2);
  });
});

describe('the form that rotates a key', () => {
  it('issues one key by the same name however often it is sent, and ends the old one later', async () => {
    const account = await newAccount('rotating');
    const { id } = await visitor.issue(account, { name: 'batch jobs' });
    expect((await visitor.get(`rotate?id=${id}`)).text).toContain('Rotate batch jobs?');
    const send = () => visitor.post(`rotate?id=${id}`, { overlap: 'week' });
    const sent = await Promise.all([send(), send()]);
    const page = await visitor.get(sent[0]!.location!);
    expect(secretIn(page)).toMatch(/^sk-/);
    expect(page.text).toContain(`The key ${id} ends in 7 days`);
    expect(await visitor.secretAt(sent[1]!.location)).toBe(secretIn(page));
    expect(await keysIn(account)).toBe(2);
    const [newest] = (await visitor.get('audit')).text.split('<tr>').slice(2);
    for (const part of ['rotated the key', 'the old key ends: 20', idIn(sent[0]!.location)])
      expect(newest).toContain(part);
  });

  it('is refused for a key that has ended, and for an overlap that it does not offer', async () => {
    const account = await newAccount('rotated-once');
    const { id } = await visitor.issue(account);
    const rotate = async (overlap: string) => {
      return (await visitor.submit(`rotate?id=${id}`, { overlap })).status;
    };
    expect([await rotate('year'), await rotate('now'), await rotate('day')]).toEqual([422, 303, 409]);
    expect((await visitor.get(`keys?all=yes&account=${account}`)).text).toContain('>expired<');
    expect(await keysIn(account)).toBe(2);
    expect((await visitor.get('rotate?id=key_none')).status).toBe(404);
  });
});

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
      `href="requests?key=${id}"`,
    ])
      expect(text).toContain(part);
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

  it('keeps what another person has edited meanwhile, and shows both', async () => {
    const { id } = await issue({ name: 'shared', requests_per_minute: '5' });
    const page = `key?id=${id}`;
    const fields = await fieldsOf(visitor, id);
    const otto = await operatorAt(gateways[0]!, 'otto');
    await otto.submit(page, { ...fields, name: 'named', expires: 'week', requests_per_minute: '6' });
    const theirs = await recordOf(id);
    const edits = { expires: 'month', requests_per_minute: '7', tokens_per_day: '9' };
    const conflict = await visitor.post(page, { ...fields, ...edits });
    const ends = new Date(theirs.expires_ms!).toISOString();
    expect(conflict.status).toBe(409);
    for (const change of ['“5” to “6”', `“never” to “${ends}”`])
      expect(conflict.text).toContain(`Changed meanwhile from ${change}.`);
    expect(await recordOf(id)).toEqual(theirs);
    const again = formFields(conflict.text, 'Save changes');
    expect(again).toMatchObject({ name: 'named', expires: 'month', requests_per_minute: '7' });
    expect((await visitor.post(page, { ...again, expires: 'keep' })).status).toBe(303);
    const limits = { requests_per_minute: 7, tokens_per_day: 9 };
    expect(await recordOf(id)).toMatchObject({ name: 'named', expires_ms: theirs.expires_ms, limits });
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ requests_per_minute: '-1' }, /^must be above 0/],
    [{ requests_per_minute: 'many' }, /^must be a number/],
    [{ expires: 'at', expires_at: '2001-01-01T00:00' }, /^This time has passed already\.$/],
    [{ expires: 'at', expires_at: '2099-02-31T00:00' }, /^Enter a day/],
    [{ expires: 'someday' }, /^“someday” is not a lifetime/],
    [{ name: 'x'.repeat(201) }, /^A name has 200/],
  ])('says what is wrong with which field, and keeps what was typed: %j', async (typed, said) => {
    const { id } = await issue({ name: 'typed' });
    const { status, text } = await visitor.post(`key?id=${id}`, {
      ...(await fieldsOf(visitor, id)),
      ...typed,
    });
    const faults = [...text.matchAll(/<span class="fault"[^>]*>([^<]+)/g)].map(([, fault]) => fault);
    expect([status, faults]).toEqual([422, [expect.stringMatching(said)]]);
    if (typed.requests_per_minute) expect(text).toContain(`value="${typed.requests_per_minute}"`);
    expect(await recordOf(id)).toMatchObject({ name: 'typed', expires_ms: null, limits: {} });
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
});

describe('a list of keys', () => {
  it('shows the requests and the cost of each key', async () => {
    const account = await newAccount('spending');
    await visitor.issue(account, { name: 'unused' });
    const { key } = await visitor.issue(account, { name: 'used' });
    for (const _ of [1, 2]) expect(await statusOf(key)).toBe(200);
    const rowsOf = async (page: string) =>
      (await visitor.get(page)).text
        .split('<tr>')
        .filter(text => text.includes('key_'))
        .map(row => [...row.matchAll(/class="number">(.*?)<\/td>/g)].map(([, cell]) => cell!));
    await until(async () => (await rowsOf(`keys?account=${account}`))[0]?.[0] === '2');
    for (const page of [`keys?account=${account}`, `account?id=${account}`])
      expect(await rowsOf(page)).toEqual([
        ['2', expect.stringMatching(/<data value="0\.0*[1-9]\d*"/)],
        ['0', expect.stringContaining('<data value="0"')],
      ]);
  });

  it('revokes the chosen keys after one confirmation', async () => {
    const account = await newAccount('revoking');
    const ids: string[] = [];
    for (const name of ['first', 'second', 'kept']) ids.push((await visitor.issue(account, { name })).id);
    const [first, second, kept] = ids;
    const page = `revoke?id=${first}&id=${second}`;
    const { text } = await visitor.get(page);
    expect(text).toContain('Revoke 2 keys?');
    expect(text).toContain(`action="revoke?id=${first}&amp;id=${second}"`);
    expect(text).not.toContain(kept);
    expect((await visitor.post(page, {})).location).toBe('keys');
    expect((await visitor.get('keys')).text).toContain('2 keys are revoked');
    const left = await visitor.get(`keys?account=${account}`);
    expect(left.text).not.toContain('2 keys are revoked');
    expect([...left.text.matchAll(/name="id" value="(\w+)"/g)].map(([, id]) => id)).toEqual([kept]);
    for (const id of [first, second]) {
      const log = (await visitor.get(`audit?target=${id}`)).text;
      expect(log.split('revoked the key')).toHaveLength(2);
    }
    const many = Array.from({ length: 51 }, (_, at) => `id=${at}`).join('&');
    for (const [query, status] of [
      ['', 422],
      [`${'id=x&'.repeat(9)}id=key_none`, 404],
      [many, 422],
    ] as const)
      expect([query, (await visitor.get(`revoke?${query}`)).status]).toEqual([query, status]);
  });

  it('is sorted by name, and is paged forwards and back', async () => {
    const account = await newAccount('many-keys');
    await place.look(async ({ keys }) => {
      for (let at = 0; at < 51; at++)
        await keys.create(
          { account, name: `n${String(at).padStart(2, '0')}`, expires_ms: null },
          { actor: 'test', at_ms: Date.now() },
        );
    });
    const page = async (query: string) => {
      const { text } = await visitor.get(query);
      const names = [...text.matchAll(/\bn\d\d\b/g)].map(([name]) => name);
      return { names, next: linkIn(text, 'next'), previous: linkIn(text, 'prev') };
    };
    const first = await page(`keys?account=${account}&sort=name`);
    expect([first.names[0], first.previous]).toEqual(['n00', undefined]);
    const last = await page(first.next!);
    expect([new Set(last.names), last.next]).toEqual([new Set(['n50']), undefined]);
    expect(await page(last.previous!)).toEqual(first);
  });
});

describe('a secret that is pasted into a search', () => {
  const found = (page: string, field: string, text: string) => {
    // A form that searches has none.
    visitor.nonce = '';
    return visitor.post('find', { page, [field]: text, sort: 'newest' });
  };
  const secret = 'xk3Jq9Z_pW7tRv2LmB8sYd4H';
  let key: string;
  let id: string;
  beforeAll(async () => {
    ({ key, id } = await issue({ name: 'whole' }));
  });

  it.each([
    ['keys', 'search'],
    ['keys', 'account'],
    ['accounts', 'search'],
    ['requests', 'account'],
    ['request', 'id'],
    ['usage', 'model'],
    ['audit', 'target'],
  ])('leads from the page %s by its %s to whose it is, and stands in no address', async (page, field) => {
    const text = field === 'id' ? `Bearer ${key}` : ` ${key}`;
    expect((await found(page, field, text)).location).toBe(`key?id=${id}`);
    expect((await found(page, field, clientKey)).location).toBe('account?id=tester');
    const unknown = await found(page, field, secret);
    expect([unknown.status, unknown.location]).toEqual([404, undefined]);
    expect(unknown.text).toContain('looks like a key or another secret');
    expect(unknown.text).not.toContain(secret);
  });

  it('is taken out of an address, by whoever it was typed, and kept from who is not signed in', async () => {
    const signedOut = new DashboardVisitor(visitor.base);
    for (const who of [visitor, signedOut])
      expect((await who.get(`keys?all=yes&search=${key}`)).location).toBe('keys?all=yes');
    await signedOut.get('sign-in');
    const asked = await signedOut.post('find', { page: 'keys', search: secret });
    expect([asked.status, asked.text.includes(secret)]).toEqual([401, false]);
  });

  it('is told from names, which are searched for as before, however random they look', async () => {
    const random = await newAccount('user_2NNEqL2nrIRdJ194ndJqAHwEfxC');
    for (const [page, field, text] of [
      ['keys', 'search', 'a name & more'],
      ['accounts', 'search', random.slice(4)],
      ['requests', 'account', random],
      ['requests', 'model', 'anthropic/claude-3-5-sonnet-20241022'],
      ['request', 'id', '0192f0a4-7d5e-7c3a-9b1e-2f6a8c4d0e11'],
    ] as const)
      expect((await found(page, field, text)).location).toBe(
        `${page}?${new URLSearchParams({ [field]: text, sort: 'newest' })}`,
      );
    expect((await found('keys', 'search', '')).location).toBe('keys?sort=newest');
    expect((await found('https://example.org', 'search', 'x')).status).toBe(400);
  });

  it.each(['', 'accounts', 'keys', 'requests', 'usage', 'audit'])(
    'cannot be sent by a form of the page "%s" that writes its texts into the address',
    async page => {
      const { text } = await visitor.get(page);
      const forms = text.match(/<form method="get"[\s\S]*?<\/form>/g) ?? [];
      expect(forms.filter(form => /<input(?! type="checkbox")/.test(form))).toEqual([]);
    },
  );
});
