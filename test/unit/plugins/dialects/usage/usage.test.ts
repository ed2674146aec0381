import { beforeEach, describe, expect, it } from '@jest/globals';
import { max_per_minute } from '../../../../../plugins/dialects/usage/account-pace.ts';
import { usage } from '../../../../../plugins/dialects/usage/index.ts';
import { max_lines } from '../../../../../plugins/dialects/usage/usage-answer.ts';
import type { Account } from '../../../../../src/gateway/accounts/accounts.ts';
import {
  type DialectGateway,
  dialectGateway,
  type Exchange,
  GatewayError,
  type RecordsStore,
  StoreUnavailable,
} from '../../../../../src/plugin.ts';
import { FakeClock, noon_ms } from '../../../../support/fake-clock.ts';
import { openRecords } from '../../../../support/open-records.ts';
import { sampleRow } from '../../../src/mount/ledger/sample-row.ts';

const clock = new FakeClock();
let store: RecordsStore;
let gateway: DialectGateway;
let answers: ReturnType<typeof usage.create>;

beforeEach(async () => {
  store = await openRecords({ kind: 'memory' });
  await store.migrate(noon_ms);
  const { usage: sums, keys } = store;
  const limitsOf = async ({ id }: Account) => [{ name: id }] as never;
  gateway = { clock, log: undefined as never, responses: undefined, usage: sums, keys, limitsOf };
  answers = open();
});

function open() {
  const get = (key: unknown) => (key === dialectGateway ? gateway : undefined);
  return usage.create({ enabled: true }, { models: [], get: get as never });
}

const ask = async (url: string, account: Account | undefined = { id: 'acme', plan: undefined }) => {
  const exchange = { account, incoming: { url } } as unknown as Exchange;
  const { headers, body } = await answers.answer({}, url.split('?')[0]!, exchange);
  expect(headers).toEqual({ 'cache-control': 'no-store' });
  return JSON.parse(body as string);
};
const refusalOf = (url: string, account?: Account): Promise<GatewayError> =>
  ask(url, account).then(
    () => Promise.reject(new Error('not refused')),
    (thrown: unknown) => (GatewayError.is(thrown) ? thrown : Promise.reject(thrown)),
  );

const row = (at: number, more: object = {}) => ({
  ...sampleRow(),
  id: `row-${at}`,
  account: 'acme',
  key_id: null,
  started_ms: noon_ms - 1000,
  prompt_tokens: 10,
  completion_tokens: 5,
  cost_usd: '0.000000000007',
  ...more,
});

describe('usage that customers ask for', () => {
  it('is of their own account alone, with costs as exact decimals', async () => {
    await store.ledger.insert([
      row(1),
      row(2, { cost_usd: '0.1' }),
      row(3, { account: 'other', cost_usd: '5' }),
      row(4, { started_ms: Date.UTC(2026, 9, 31), cost_usd: '1' }),
    ]);
    expect(await ask('/v1/usage')).toEqual({
      object: 'list',
      from: '2026-11-01',
      to: '2026-11-21',
      data: [],
      total: expect.objectContaining({ requests: 2, prompt_tokens: 20, cost_usd: '0.100000000007' }),
    });
    for (const url of ['/v1/usage?by=day', '/v1/usage?by=model,key']) {
      const { data, total } = await ask(url, { id: 'other', plan: undefined });
      expect(data).toMatchObject([{ requests: 1, cost_usd: '5' }]);
      expect(total.cost_usd).toBe('5');
    }
  });

  it('is by day, model and key, in that order, with the names of the keys', async () => {
    const made = await store.keys.create(
      { account: 'acme', name: 'ours', expires_ms: null },
      { actor: 'a', at_ms: 1 },
    );
    const key_id = made.record.id;
    await store.ledger.insert([row(1, { key_id, model: 'a/b' }), row(2, { model: null })]);
    const { data } = await ask('/v1/usage?by=key&by=model,day');
    expect(data.toReversed().map((line: object) => Object.entries(line).slice(0, 4))).toEqual([
      Object.entries({ day: '2026-11-21', model: 'a/b', key: key_id, key_name: 'ours' }),
      Object.entries({ day: '2026-11-21', model: null, key: null, key_name: null }),
    ]);
  });

  it.each([
    ['by=account', 'by: must be among day, model, key.'],
    ['account=other', 'account: is unknown here; there are from, to, by.'],
    ['from=2026-02-30', 'from: must be a day in UTC, such as 2026-11-20.'],
    ['to=x', 'to: must be a day in UTC, such as 2026-11-20.'],
    ['from=2026-11-02&to=2026-11-01', 'from: must not be after to.'],
    ['from=2024-01-01', 'from: must be at most 366 days before to.'],
    ['from=2026-08-01&by=key', 'from: must be at most 92 days ago for usage by key.'],
  ])('is refused for ?%s', async (query, message) => {
    expect(await refusalOf(`/v1/usage?${query}`)).toMatchObject({ status: 400, message });
  });

  it('is refused where the answer would be too long', async () => {
    const sum = { ...(await store.usage.sum({ by: [] }))[0], cost_usd: '0' } as never;
    gateway = { ...gateway, usage: { sum: async ({ limit }) => Array(limit).fill(sum) } };
    answers = open();
    expect((await refusalOf('/v1/usage?by=day')).message).toContain(`more than ${max_lines} lines`);
  });

  it('is 503 while the store does not answer, and 403 without an account', async () => {
    gateway = { ...gateway, usage: { sum: () => Promise.reject(new StoreUnavailable('down')) } };
    answers = open();
    expect(await refusalOf('/v1/usage')).toMatchObject({ status: 503, type: 'server_error' });
    expect(await refusalOf('/v1/usage', null as never)).toMatchObject({ status: 403 });
  });

  it('is refused above the pace of an account until the minute is over, and for no other account', async () => {
    for (let at = 0; at < max_per_minute; at++) await ask('/v1/limits');
    clock.advance(15_000);
    expect(await refusalOf('/v1/usage')).toMatchObject({ status: 429, headers: { 'retry-after': '45' } });
    expect(await ask('/v1/limits', { id: 'other', plan: undefined })).toMatchObject({
      data: [{ name: 'other' }],
    });
    clock.advance(45_000);
    expect(await ask('/v1/limits')).toEqual({ object: 'list', data: [{ name: 'acme' }] });
  });
});
