import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adminApiKeys, adminKeyOf, askAdminApi } from '../../../support/admin-api-client.ts';
import { FakeClock, noon_ms } from '../../../support/fake-clock.ts';
import { type GatewayUnderTest, startGateway } from '../../../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace } from '../../../support/records-place.ts';
import { sampleRow } from '../../src/mount/ledger/sample-row.ts';

let gateway: GatewayUnderTest;
let place: RecordsPlace;
const plans = { free: { requests_per_minute: 5, usd_per_month: '2.50' } };

const ask = (request: string, role = 'admin') =>
  askAdminApi(gateway.adminUrl, request, { key: adminKeyOf(role) });

const rows = Array.from({ length: 25 }, (_, at) => {
  const started_ms = noon_ms - at * 60_000;
  const failed = { status: 502, error_type: 'provider_error', end_reason: 'upstream_failed' };
  return {
    ...sampleRow({ started_ms, request_id: `request-${at}`, cost_usd: '0.1', paid_usd: '0.04' }),
    account: at % 2 === 0 ? 'acme' : 'other',
    model: at === 3 ? null : 'v/one',
    key_id: at === 4 ? 'house/ci' : null,
    ...(at === 0 && failed),
    attempts_made: [{ ...sampleRow().attempts_made[0]!, error_message: 'internal detail' }],
  };
});

beforeAll(async () => {
  place = await recordsPlace();
  await place.look(({ ledger }) => ledger.insert(rows));
  gateway = await startGateway({
    upstream: 'http://127.0.0.1:9',
    config: {
      admin_api: { enabled: true, keys: adminApiKeys },
      plans,
      stores: place.stores,
      tags: { team: ['a', 'b'] },
      accounts: { house: { keys: [{ value: 'sk-house-0123', name: 'ci', tags: { team: 'a' } }] } },
    },
    options: { clock: new FakeClock() },
  });
  const { accounts } = gateway.gateway;
  for (const id of ['acme', 'other']) await accounts.create({ id, plan: 'free' });
});
afterAll(async () => {
  await gateway.close();
  await place.remove();
});

describe('GET /usage', () => {
  it('adds up by any groups, with the exact total of all lines', async () => {
    const { status, body } = await ask('GET /usage?by=account,model&limit=2');
    expect([status, body.from, body.to, body.has_more]).toEqual([200, '2026-11-01', '2026-11-21', true]);
    expect(body.data.map((line: object) => Object.entries(line).slice(0, 3))).toEqual([
      Object.entries({ account: 'acme', model: 'v/one', requests: 13 }),
      Object.entries({ account: 'other', model: null, requests: 1 }),
    ]);
    expect(body.total).toMatchObject({ requests: 25, cost_usd: '2.5', paid_usd: '1', margin_usd: '1.5' });
    expect((await ask('GET /usage?model=(none)')).body).toMatchObject({ data: [], total: { requests: 1 } });
    expect((await ask('GET /usage?account=nobody&from=2026-01-01')).body.total.cost_usd).toBe('0');
  });

  it('adds up by tags of keys, and takes those alone that are listed', async () => {
    const { body } = await ask('GET /usage?by=account,tag:team&order=requests&limit=2', 'operator');
    expect(
      body.data.map(({ account, tags, requests }: Record<string, unknown>) => [account, tags, requests]),
    ).toEqual([
      ['acme', { team: null }, 12],
      ['other', { team: null }, 12],
    ]);
    expect([body.has_more, body.total.requests]).toEqual([true, 25]);
    expect(JSON.stringify(body)).not.toMatch(/usd/);
    const [, tagged] = (await ask('GET /usage?by=tag:team')).body.data;
    expect(tagged).toMatchObject({ tags: { team: 'a' }, requests: 1, cost_usd: '0.1' });
    const { status, body: refusal } = await ask('GET /usage?by=tag:teem');
    expect([status, refusal.error.param, refusal.error.message]).toEqual([
      400,
      'by',
      expect.stringContaining("did you mean 'team'?"),
    ]);
    const created = await askAdminApi(gateway.adminUrl, 'POST /keys', {
      key: adminKeyOf('admin'),
      body: { account: 'acme', tags: { team: 'b' } },
    });
    expect([created.status, created.body.tags]).toEqual([201, { team: 'b' }]);
    const change = (tags: object) =>
      askAdminApi(gateway.adminUrl, `PATCH /keys/${created.body.id}`, {
        key: adminKeyOf('admin'),
        body: { tags },
      });
    expect((await change({ team: 'c' })).body.error).toMatchObject({ param: 'tags' });
    expect((await change({})).body.tags).toEqual({});
  });

  it('tells operators no money, and margins to admins alone', async () => {
    const { body } = await ask('GET /usage?by=day', 'operator');
    expect(JSON.stringify(body)).not.toMatch(/usd/);
    expect((await ask('GET /usage?by=model&order=cost', 'operator')).status).toBe(403);
    const seen = (await ask('GET /usage?by=day', 'viewer')).body;
    expect([seen.total.cost_usd, JSON.stringify(seen).includes('paid')]).toEqual(['2.5', false]);
  });

  it.each([
    ['by=nobody', 'by'],
    ['from=2026-02-30', 'from'],
    ['from=2026-11-02&to=2026-11-01', 'from'],
    ['from=1990-01-01', 'from'],
    ['limit=10001', 'limit'],
    ['account=a&account=b', 'account'],
  ])('refuses ?%s', async (query, param) => {
    const { status, body } = await ask(`GET /usage?${query}`);
    expect([status, body.error.param]).toEqual([400, param]);
  });
});

describe('GET /requests', () => {
  it('lists by pages, each row once, the newest first', async () => {
    const found: string[] = [];
    for (let after = ''; ; ) {
      const { body } = await ask(`GET /requests?limit=10${after && `&after=${after}`}`);
      found.push(...body.data.map(({ request_id }: { request_id: string }) => request_id));
      if (!body.has_more) break;
      after = body.last_id;
    }
    expect(found).toEqual(rows.map(({ request_id }) => request_id));
  });

  it.each([
    ['account=acme', 13],
    ['model=(none)', 1],
    ['failed=true', 1],
    ['error_class=provider_failed', 1],
    ['error_type=provider_error&account=other', 0],
    ['from=2026-11-21T11:55:00Z&until=2026-11-21T12:00:00Z', 5],
    ['from=2026-11-21T12:55:00%2B01:00', 6],
  ])('filters by %s', async (query, count) => {
    expect((await ask(`GET /requests?${query}`)).body.data).toHaveLength(count);
  });

  it('has one with its attempts, without money and what providers said for those who may not see it', async () => {
    const [row] = (await ask('GET /requests/request-7')).body.data;
    expect(row).toMatchObject({
      object: 'request',
      account: 'other',
      started_at: '2026-11-21T11:53:00.000Z',
      cost_usd: '0.1',
      paid_usd: '0.04',
      attempts_made: [{ provider: 'local', outcome: 'completed', error_message: 'internal detail' }],
      stages: [{ stage: 'auth' }, { stage: 'rate-limit' }],
    });
    const told = JSON.stringify((await ask('GET /requests/request-7', 'operator')).body);
    expect(told).not.toMatch(/usd|internal detail/);
    expect((await ask('GET /requests/request-7', 'viewer')).body.data[0]).not.toHaveProperty('paid_usd');
    expect((await ask('GET /requests/nobody')).body.error.code).toBe('not_found');
    expect((await ask('GET /requests?after=x')).body.error.param).toBe('after');
  });
});

describe('limits, models and providers', () => {
  it('are shown with their state, and to operators without money', async () => {
    const { record } = await gateway.gateway.keys.create({ account: 'acme', limits: { tokens_per_day: 9 } });
    const limits = (await ask('GET /accounts/acme/limits')).body.data;
    expect(limits).toMatchObject([
      { name: 'requests_per_minute', max: 5, used: 0, resets_at: null },
      { name: 'usd_per_month', max: '2.5' },
    ]);
    const ofKey = (await ask(`GET /keys/${record.id}/limits`, 'operator')).body.data;
    expect(ofKey.map(({ name, key }: { name: string; key?: string }) => [name, key])).toEqual([
      ['requests_per_minute', undefined],
      ['tokens_per_day', record.id],
    ]);
    expect((await ask('GET /accounts/nobody/limits')).status).toBe(404);

    const [model] = (await ask('GET /models')).body.data;
    expect(model).toMatchObject({ object: 'model', pricing: {}, upstreams: [{ usable_in_ms: 0 }] });
    expect((await ask('GET /models', 'operator')).body.data[0]).not.toHaveProperty('pricing');
    const [provider] = (await ask('GET /providers', 'viewer')).body.data;
    expect(provider).toMatchObject({ name: 'upstream', healthy: true, breaker: { state: 'closed' } });
    expect((await ask('GET /providers/upstream')).body).toEqual(provider);
    expect((await ask('GET /providers/nobody')).status).toBe(404);
  });
});

describe('statements', () => {
  it('are CSV of one account or of all, for those who see money', async () => {
    const one = await ask('GET /accounts/acme/statements/2026-11', 'viewer');
    expect([one.status, one.headers.get('content-type')]).toEqual([200, 'text/csv']);
    const lines = one.body.trim().split('\r\n');
    expect(lines[0]).toMatch(/^month,account,model,key,key_name,requests,.*,cost_usd$/);
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^2026-11,acme,v\/one,,,12,.*,1\.20$/),
      expect.stringMatching(/^2026-11,acme,v\/one,house\/ci,,1,.*,0\.10$/),
    ]);
    const all = (await ask('GET /statements/2026-11')).body.trim().split('\r\n');
    expect(all.slice(1).map((line: string) => line.split(',').slice(1, 3))).toEqual([
      ['acme', 'v/one'],
      ['acme', 'v/one'],
      ['other', '(none)'],
      ['other', 'v/one'],
    ]);
    expect((await ask('GET /statements/2026-11', 'operator')).status).toBe(403);
    expect((await ask('GET /statements/2026-13')).body.error.param).toBe('month');
    expect((await ask('GET /accounts/acme/statements/2020-01')).status).toBe(200);
    expect((await ask('GET /accounts/nobody/statements/2026-11')).status).toBe(404);
  });
});

describe('POST /reload', () => {
  it('reads the configuration again, for admins alone, and names the mistakes of one that cannot be used', async () => {
    const source = gateway.gateway.settings.source as { plans: Record<string, unknown> };
    for (const role of ['operator', 'viewer']) expect((await ask('POST /reload', role)).status).toBe(403);
    expect((await ask('POST /reload')).body).toMatchObject({ object: 'reload', needs_restart: [] });
    const before = source.plans;
    source.plans = { free: { requests_per_minute: 0 } };
    const { status, body } = await ask('POST /reload');
    source.plans = before;
    expect([status, body.error.code]).toEqual([422, 'configuration_refused']);
    expect(body.error.message).toContain('plans.free.requests_per_minute');
  });
});
