import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adminApiKeys, adminKeyOf, askAdminApi } from '../support/admin-api-client.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

const upstream = 'http://127.0.0.1:9';
const plans = { free: { requests_per_minute: 5 } };
let gateway: GatewayUnderTest;

beforeAll(async () => {
  gateway = await startGateway({
    upstream,
    config: { admin_api: { enabled: true, keys: adminApiKeys }, plans },
  });
});
afterAll(() => gateway.close());

const ask = (request: string, asked?: Parameters<typeof askAdminApi>[2]) =>
  askAdminApi(gateway.adminUrl, request, asked);
const as = (role: string) => ({ key: adminKeyOf(role) });

describe('the Admin API', () => {
  it('is not there unless it is enabled', async () => {
    const other = await startGateway({ upstream, config: { admin_api: { keys: adminApiKeys } } });
    const response = await fetch(`${other.adminUrl}/admin-api/v1/accounts`);
    expect(response.status).toBe(404);
    await other.close();
  });

  it('refuses everybody without a right key in one form, whatever is asked for', async () => {
    for (const request of ['GET /accounts', 'GET /nowhere', 'POST /keys']) {
      const { status, body, headers } = await ask(request, { key: 'wrong' });
      expect([status, body]).toEqual([
        401,
        {
          error: {
            message: 'Invalid key.',
            type: 'authentication_error',
            param: null,
            code: 'invalid_api_key',
          },
        },
      ]);
      expect(headers.get('www-authenticate')).toBe('Bearer realm="admin-api"');
    }
    expect(await ask('GET /accounts', { key: '' })).toMatchObject({
      status: 401,
      body: { error: { code: 'missing_api_key' } },
    });
  });

  it('creates, shows, changes and disables accounts', async () => {
    const created = await ask('POST /accounts', { body: { id: 'acme', plan: 'free' } });
    expect(created).toMatchObject({
      status: 201,
      body: { object: 'account', id: 'acme', plan: 'free', limits: {}, disabled_at: null, source: 'store' },
    });
    const etag = created.headers.get('etag')!;
    const changed = await ask('PATCH /accounts/acme', {
      body: { display_name: 'Acme', limits: { usd_per_month: '5' } },
      headers: { 'if-match': etag },
    });
    expect(changed).toMatchObject({ status: 200, body: { display_name: 'Acme', plan: 'free' } });
    const late = { body: { plan: null }, headers: { 'if-match': etag } };
    expect(await ask('PATCH /accounts/acme', late)).toMatchObject({
      status: 412,
      body: { error: { code: 'precondition_failed' } },
    });
    expect((await ask('POST /accounts/acme/disable', { headers: { 'if-match': etag } })).status).toBe(412);
    expect((await ask('POST /accounts/acme/disable')).body.disabled_at).toMatch(/^\d{4}-.*Z$/);
    const { body, headers } = await ask('POST /accounts/acme/enable');
    expect(body).toEqual((await ask('GET /accounts/acme')).body);
    expect((await ask('GET /accounts/acme')).headers.get('etag')).toBe(headers.get('etag'));
    expect((await ask('GET /accounts?search=ACM')).body).toEqual({
      object: 'list',
      data: [body],
      first_id: 'acme',
      last_id: 'acme',
      has_more: false,
    });
  });

  it('hides amounts of money from operators, and lets them set none', async () => {
    await ask('POST /accounts', { body: { id: 'rich', limits: { usd_per_month: '5', models: {} } } });
    expect((await ask('GET /accounts/rich', as('operator'))).body.limits).toEqual({ models: {} });
    const limits = { requests_per_minute: 7 };
    await ask('PATCH /accounts/rich', { ...as('operator'), body: { limits } });
    expect((await ask('GET /accounts/rich', as('viewer'))).body.limits).toEqual({
      ...limits,
      usd_per_month: '5',
    });
    const money = { ...as('operator'), body: { limits: { usd_per_month: '900' } } };
    expect(await ask('PATCH /accounts/rich', money)).toMatchObject({
      status: 403,
      body: { error: { param: 'limits.usd_per_month', code: 'permission_denied' } },
    });
  });

  it('makes keys that clients can use at once, changes, rotates and revokes them', async () => {
    await ask('POST /accounts', { body: { id: 'keyed' } });
    const made = await ask('POST /keys', {
      body: { account: 'keyed', name: 'ci', expires_at: '2099-01-01T00:00:00+01:00' },
    });
    expect(made).toMatchObject({
      status: 201,
      body: { object: 'key', account: 'keyed', name: 'ci', expires_at: '2098-12-31T23:00:00.000Z' },
    });
    const { key, id, ...shown } = made.body;
    // A request that is admitted is refused for its body.
    const chat = (key: string) => gateway.post({}, { headers: { authorization: `Bearer ${key}` } });
    expect((await chat(key)).status).toBe(400);
    expect((await ask(`GET /keys/${id}`)).body).toEqual({ id, ...shown });
    expect((await ask(`PATCH /keys/${id}`, { body: { name: 'cd' } })).body.name).toBe('cd');
    const rotated = await ask(`POST /keys/${id}/rotate`, { body: { overlap_ms: 0 } });
    expect(rotated).toMatchObject({ status: 201, body: { name: 'cd', replaced: { id } } });
    expect((await chat(key)).status).toBe(401);
    expect((await chat(rotated.body.key)).status).toBe(400);
    expect((await ask(`POST /keys/${rotated.body.id}/revoke`)).body.revoked_at).not.toBeNull();
    expect((await chat(rotated.body.key)).status).toBe(401);
    expect((await ask('GET /keys?account=keyed')).body.data).toEqual([]);
    expect((await ask('GET /keys?account=keyed&all=true')).body.data).toHaveLength(2);
    expect(await ask(`PATCH /keys/${id}`, { body: { name: 'x' } })).toMatchObject({ status: 409 });
  });

  it('gives the answer of a creation again, with the text of the key, and refuses another body', async () => {
    const headers = { 'idempotency-key': 'deploy-1' };
    const body = { account: 'tester', name: 'once' };
    const [first, same] = await Promise.all([
      ask('POST /keys', { body, headers }),
      ask('POST /keys', { body, headers }),
    ]);
    expect(first.status).toBe(201);
    expect(same.body).toEqual(first.body);
    const again = await ask('POST /keys', { body, headers });
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await ask('GET /keys?account=tester')).body.data).toHaveLength(1);
    expect(await ask('POST /keys', { body: { ...body, name: 'other' }, headers })).toMatchObject({
      status: 422,
      body: { error: { code: 'idempotency_key_reused' } },
    });
    // Of another key of the API it is another one.
    const other = await ask('POST /keys', { ...as('operator'), body, headers });
    expect(other.body.id).not.toBe(first.body.id);
  });

  it('has keys of its own, which admins make and revoke', async () => {
    const body = { name: 'robot', role: 'viewer' };
    const { key, ...made } = (await ask('POST /admin-keys', { body })).body;
    expect((await ask('GET /accounts', { key })).status).toBe(200);
    expect((await ask('GET /admin-keys', { key })).status).toBe(403);
    const [listed] = (await ask('GET /admin-keys')).body.data;
    expect(listed).toEqual({ ...made, last_used_at: expect.any(String) });
    expect((await ask('POST /admin-keys', { body })).status).toBe(409);
    await ask(`POST /admin-keys/${made.id}/revoke`);
    expect((await ask('GET /accounts', { key })).status).toBe(401);
    expect((await ask('GET /audit?action=admin-key')).body.data).toMatchObject([
      { action: 'admin-key.revoke', actor: 'api:admin', target: made.id, address: '127.0.0.1' },
      { action: 'admin-key.create', detail: { name: 'robot', role: 'viewer' } },
    ]);
  });

  it.each([
    ['POST /accounts', '{"id":', 400, null],
    ['POST /accounts', '[]', 400, null],
    ['POST /accounts', { id: 'x', plam: 'free' }, 400, 'plam'],
    ['POST /accounts', { id: 'a b' }, 400, 'id'],
    ['POST /accounts', { id: 'x', plan: 'fre' }, 400, 'plan'],
    ['POST /accounts', { id: 'x', parent: 'nobody' }, 400, 'parent'],
    ['POST /accounts', { id: 'x', contacts: ['nobody'] }, 400, 'contacts'],
    ['POST /accounts', { id: 'Tester' }, 409, null],
    ['PATCH /accounts/tester', { plan: null }, 409, null],
    ['PATCH /accounts/nobody', { plan: null }, 404, null],
    ['POST /keys', { account: 'nobody' }, 400, 'account'],
    ['POST /keys', { account: 'tester', expires_at: '2001-01-01T00:00:00Z' }, 400, 'expires_at'],
    [
      'POST /keys',
      { account: 'tester', limits: { requests_per_minute: -1 } },
      400,
      'limits.requests_per_minute',
    ],
    ['GET /accounts?limit=0', undefined, 400, 'limit'],
    ['GET /accounts?plam=free', undefined, 400, 'plam'],
    ['GET /accounts/%ff', undefined, 404, null],
    ['DELETE /accounts', undefined, 405, null],
    ['POST /accounts', `{"id":"${'x'.repeat(300_000)}"}`, 413, null],
  ] as const)('refuses %s with %j', async (request, body, status, param) => {
    const answer = await ask(request, { body });
    expect([answer.status, answer.body.error?.param]).toEqual([status, param]);
  });

  it('answers a program that asks many things side by side with a key that is new here', async () => {
    const made = await ask('POST /admin-keys', { body: { name: 'parallel', role: 'viewer' } });
    const { key } = made.body as { key: string };
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask('GET /accounts', { key })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('slows those down who guess, and nobody who has a key', async () => {
    const guess = () => ask('GET /accounts', { key: 'a-wrong-key' });
    const statuses: number[] = [];
    for (let guesses = 0; guesses < 12; guesses++) statuses.push((await guess()).status);
    expect(statuses.at(-1)).toBe(429);
    expect(Number((await guess()).headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await ask('GET /accounts')).status).toBe(200);
  });
});
