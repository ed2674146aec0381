import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DashboardVisitor, dashboardAdmin, type Visited } from '../support/dashboard-visitor.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let visitor: DashboardVisitor;

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, completion('Hello.')));
  gateway = await startGateway({ upstream, config: { admin: dashboardAdmin() } });
  visitor = new DashboardVisitor(`${gateway.adminUrl}/dashboard/`);
  await visitor.signIn();
});
afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const secretIn = ({ text }: Visited) => /id="secret">([^<]+)</.exec(text)?.[1];
const secretAt = async (location: string | undefined) => secretIn(await visitor.get(location!));

async function newAccount(id: string): Promise<string> {
  await visitor.get('accounts');
  await visitor.post('accounts', { id });
  return id;
}

async function nonceOf(page: string): Promise<string> {
  await visitor.get(page);
  return visitor.nonce;
}

const keysIn = async (account: string) =>
  [...(await visitor.get(`keys?all=yes&account=${account}`)).text.matchAll(/key_[0-9a-z]{18}<\/code>/g)]
    .length;

describe('the form that issues a key', () => {
  it('issues one key when it is sent twice at once, and shows it once for each time it was sent', async () => {
    const account = await newAccount('double-click');
    await visitor.get(`account?id=${account}`);
    const sent = await Promise.all(
      [1, 2].map(() => visitor.post(`issue?account=${account}`, { name: 'twice' })),
    );
    expect(await keysIn(account)).toBe(1);
    const shown = await Promise.all(sent.map(({ location }) => secretAt(location)));
    expect(shown).toEqual([expect.stringMatching(/^sk-/), shown[0]]);
    for (const { location } of sent)
      expect((await visitor.get(location!)).text).toContain('A key is shown once');
  });

  it('issues a key for each tab and shows both, in whatever order', async () => {
    const account = await newAccount('two-tabs');
    const nonces = [await nonceOf(`account?id=${account}`), await nonceOf(`account?id=${account}`)];
    const sent = [];
    for (const nonce of nonces)
      sent.push(await visitor.post(`issue?account=${account}`, { name: 'tab', nonce }));
    const [second, first] = [await secretAt(sent[1]!.location), await secretAt(sent[0]!.location)];
    expect([first, second]).toEqual([expect.stringMatching(/^sk-/), expect.stringMatching(/^sk-/)]);
    expect(first).not.toBe(second);
    expect(await keysIn(account)).toBe(2);
  });

  it('issues nothing when it is sent again with other content, and is shown again for another key', async () => {
    const account = await newAccount('changed-form');
    await visitor.get(`account?id=${account}`);
    const path = `issue?account=${account}`;
    await visitor.post(path, { name: 'one' });
    const changed = await visitor.post(path, { name: 'two' });
    expect([changed.status, changed.text]).toEqual([
      422,
      expect.stringContaining('has issued a key already'),
    ]);
    expect(await keysIn(account)).toBe(1);
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
    const other = new DashboardVisitor(visitor.base);
    await other.signIn();
    expect(secretIn(await other.get(location!))).toBeUndefined();
    expect(await secretAt(location!.replace(/&show=.*/, ''))).toBeUndefined();
    expect(await secretAt(location)).toMatch(/^sk-/);
  });
});

/** Issues a key and returns its id. */
async function issueKey(account: string, fields: Readonly<Record<string, string>>): Promise<string> {
  await visitor.get(`account?id=${account}`);
  const { location } = await visitor.post(`issue?account=${account}`, fields);
  return new URLSearchParams(location!.split('?')[1]).get('id')!;
}

describe('the form that rotates a key', () => {
  it('issues one key by the same name however often it is sent, and ends the old one later', async () => {
    const account = await newAccount('rotating');
    const id = await issueKey(account, { name: 'batch jobs' });
    const form = await visitor.get(`rotate?id=${id}`);
    expect(form.text).toContain('Rotate batch jobs?');
    const sent = await Promise.all([1, 2].map(() => visitor.post(`rotate?id=${id}`, { overlap: 'week' })));
    const page = await visitor.get(sent[0]!.location!);
    expect(secretIn(page)).toMatch(/^sk-/);
    expect(page.text).toContain(`The key ${id} ends in 7 days`);
    expect(await secretAt(sent[1]!.location)).toBe(secretIn(page));
    expect(await keysIn(account)).toBe(2);
    const [newest] = (await visitor.get('audit')).text.split('<tr>').slice(2);
    expect(newest).toContain('rotated the key');
    expect(newest).toContain('the old key ends: 20');
    expect(newest).toContain(new URLSearchParams(sent[0]!.location!.split('?')[1]).get('id')!);
  });

  it('is refused for a key that has ended, and for an overlap that it does not offer', async () => {
    const account = await newAccount('rotated-once');
    const id = await issueKey(account, {});
    await visitor.get(`rotate?id=${id}`);
    expect((await visitor.post(`rotate?id=${id}`, { overlap: 'year' })).status).toBe(422);
    expect((await visitor.post(`rotate?id=${id}`, { overlap: 'now' })).status).toBe(303);
    expect((await visitor.get(`keys?all=yes&account=${account}`)).text).toContain('>expired<');
    await visitor.get(`rotate?id=${id}`);
    expect((await visitor.post(`rotate?id=${id}`, { overlap: 'day' })).status).toBe(409);
    expect(await keysIn(account)).toBe(2);
    expect((await visitor.get('rotate?id=key_none')).status).toBe(404);
  });
});

describe('a list of keys', () => {
  it('shows the requests and the cost of each key', async () => {
    const account = await newAccount('spending');
    await issueKey(account, { name: 'unused' });
    await visitor.get(`account?id=${account}`);
    const { location } = await visitor.post(`issue?account=${account}`, { name: 'used' });
    const headers = { authorization: `Bearer ${await secretAt(location)}` };
    for (const _ of [1, 2]) await (await gateway.post(ask('Hello'), { headers })).arrayBuffer();
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
    const [first, second, kept] = [
      await issueKey(account, { name: 'first' }),
      await issueKey(account, { name: 'second' }),
      await issueKey(account, { name: 'kept' }),
    ];
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
    expect((await visitor.get('audit')).text.split('revoked the key')).toHaveLength(3);
    expect((await visitor.get('revoke')).status).toBe(422);
    expect((await visitor.get(`revoke?${'id=x&'.repeat(9)}id=key_none`)).status).toBe(404);
    const many = Array.from({ length: 51 }, (_, at) => `id=${at}`).join('&');
    expect((await visitor.get(`revoke?${many}`)).status).toBe(422);
  });

  it('is sorted by name, and is paged forwards and back', async () => {
    const account = await newAccount('many-keys');
    for (let at = 0; at < 51; at++) await issueKey(account, { name: `n${String(at).padStart(2, '0')}` });
    const page = async (query: string) => {
      const { text } = await visitor.get(query);
      const link = (rel: string) =>
        new RegExp(`href="([^"]+)" rel="${rel}"`).exec(text)?.[1]?.replaceAll('&amp;', '&');
      return {
        names: [...text.matchAll(/\bn\d\d\b/g)].map(([name]) => name),
        next: link('next'),
        previous: link('prev'),
      };
    };
    const first = await page(`keys?account=${account}&sort=name`);
    expect([first.names[0], first.previous]).toEqual(['n00', undefined]);
    const last = await page(first.next!);
    expect([new Set(last.names), last.next]).toEqual([new Set(['n50']), undefined]);
    expect(await page(last.previous!)).toEqual(first);
  });
});

describe('a secret that is pasted into a search', () => {
  const fields = [
    ['keys', 'search'],
    ['keys', 'account'],
    ['accounts', 'search'],
    ['requests', 'account'],
    ['request', 'id'],
    ['usage', 'model'],
    ['audit', 'target'],
  ] as const;
  const found = (page: string, field: string, text: string) => {
    // A form that searches has none.
    visitor.nonce = '';
    return visitor.post('find', { page, [field]: text, sort: 'newest' });
  };

  it('leads to the key or account that has it, and stands in no address and no page', async () => {
    const account = await newAccount('pasted');
    await visitor.get(`account?id=${account}`);
    const { location } = await visitor.post(`issue?account=${account}`, { name: 'whole' });
    const id = new URLSearchParams(location!.split('?')[1]).get('id');
    const key = (await secretAt(location))!;
    for (const [page, field] of fields) {
      const text = field === 'id' ? `Bearer ${key}` : ` ${key}`;
      expect((await found(page, field, text)).location).toBe(`key?id=${id}`);
      expect((await found(page, field, clientKey)).location).toBe('account?id=tester');
      const secret = 'xk3Jq9Z_pW7tRv2LmB8sYd4H';
      const unknown = await found(page, field, secret);
      expect([page, unknown.status, unknown.location]).toEqual([page, 404, undefined]);
      expect(unknown.text).toContain('looks like a key or another secret');
      expect(unknown.text).not.toContain(secret);
    }
    // Typed into the address itself, by one who is signed in or not.
    for (const who of [visitor, new DashboardVisitor(visitor.base)])
      expect((await who.get(`keys?all=yes&search=${key}`)).location).toBe('keys?all=yes');
    const signedOut = new DashboardVisitor(visitor.base);
    await signedOut.get('sign-in');
    const asked = await signedOut.post('find', { page: 'keys', search: 'xk3Jq9Z_pW7tRv2LmB8sYd4H' });
    expect([asked.status, asked.text.includes('xk3Jq9Z')]).toEqual([401, false]);
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
