import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createGateway, type Gateway } from '../../../../../src/index.ts';
import { defineExtension, type ExtensionContext } from '../../../../../src/plugin.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sidecarConfig } from '../../../../support/sidecar-process.ts';
import { sampleRow } from '../ledger/sample-row.ts';

const clock = new FakeClock();
let gateway: Gateway;
let context: ExtensionContext;
const looking = defineExtension({
  name: 'looking',
  open(given) {
    context = given;
    return {};
  },
});

beforeAll(async () => {
  const plans = { free: { requests_per_minute: 5, concurrent_requests: 2, usd_per_month: '2.50' } };
  const config = sidecarConfig('http://127.0.0.1:9/v1', { log: { level: 'silent' }, plans });
  gateway = await createGateway(config, { clock, extensions: [looking] });
});
afterAll(() => gateway.close(0));

const faultOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: Error) => `${error.name}: ${error.message}`,
  );
const lastChange = async (target: string) =>
  (await context.records.store.audit.list({ target, limit: 1 }))[0];

describe('accounts in code', () => {
  it('are made with a plan, found, changed, disabled and enabled, each change by the operator who is named', async () => {
    const made = await gateway.accounts.create({ id: 'acme', plan: 'free', display_name: 'Acme' });
    expect(made).toMatchObject({ id: 'acme', plan: 'free', limits: {}, display_name: 'Acme' });
    expect(await lastChange('acme')).toMatchObject({ action: 'account.create', actor: 'app' });
    expect(await gateway.accounts.get('acme')).toEqual(made);
    expect(await gateway.accounts.get('acme-2')).toBeUndefined();
    const limits = { requests_per_minute: 9 };
    await gateway.accounts.change('acme', now => ({ limits: { ...now.limits, ...limits } }), {
      actor: 'eve',
    });
    expect(await lastChange('acme')).toMatchObject({ action: 'account.change', actor: 'eve' });
    expect((await gateway.accounts.disable('acme')).disabled_ms).toBe(clock.epoch_ms());
    expect((await gateway.accounts.enable('acme')).disabled_ms).toBeNull();
    expect(await gateway.accounts.list({ search: 'acm' })).toEqual([{ ...made, limits }]);
  });

  it('are refused where they could not be served, and where the configuration has them', async () => {
    const { accounts } = gateway;
    await accounts.create({ id: 'kept' });
    expect(
      await Promise.all([
        faultOf(accounts.create({ id: 'Tester' })),
        faultOf(accounts.create({ id: 'KEPT' })),
        faultOf(accounts.create({ id: 'a b' })),
        faultOf(accounts.create({ id: 'b', plan: 'fre' })),
        faultOf(accounts.create({ id: 'b', limits: { requests_per_minute: 0 } })),
        faultOf(accounts.create({ id: 'b', limits: { models: { nobody: {} } } })),
        faultOf(accounts.create({ id: 'b', display_name: ' b' })),
        faultOf(accounts.create({ id: 'b', parent: 'gone' })),
        faultOf(accounts.change('kept', { parent: 'kept' })),
        faultOf(accounts.change('kept', () => ({ plan: 'gold' }))),
        faultOf(accounts.change('tester', { plan: 'free' })),
        faultOf(accounts.disable('tester')),
        faultOf(accounts.disable('nobody')),
      ]),
    ).toEqual([
      "AlreadyThere: there is an account 'tester' in the configuration already",
      "AlreadyThere: there is an account 'kept' already",
      expect.stringMatching(/^RecordRefused: 'a b' cannot be an account's name/),
      expect.stringMatching(/^RecordRefused: there is no plan 'fre'; did you mean 'free'/),
      expect.stringMatching(/^RecordRefused: limits: requests_per_minute: /),
      expect.stringMatching(/^RecordRefused: limits: there is no model 'nobody'/),
      expect.stringMatching(/^RecordRefused: a display name has 100 characters/),
      "RecordRefused: there is no account 'gone'",
      "RecordRefused: the account 'kept' would be above itself: kept → kept",
      expect.stringMatching(/^RecordRefused: there is no plan 'gold'/),
      expect.stringMatching(/^RecordRefused: account 'tester' is one of the configuration/),
      expect.stringMatching(/^RecordRefused: account 'tester' is one of the configuration/),
      expect.stringMatching(/^NotThere: /),
    ]);
    expect(await accounts.get('b')).toBeUndefined();
    expect((await accounts.get('kept'))!.plan).toBeNull();
  });
});

describe('accounts below others', () => {
  it('have the limits of those above as well, with what all below them have used', async () => {
    const { accounts, usage } = gateway;
    const limits = { requests_per_minute: 7 };
    await accounts.create({ id: 'org', limits });
    await accounts.create({ id: 'below', plan: 'free', parent: 'org' });
    const shared = { name: 'requests_per_minute', max: 7, used: 0, remaining: 7, resets_at: null };
    const ofBelow = await usage.limits('below');
    expect(ofBelow.filter(({ inherited }) => inherited)).toEqual([{ ...shared, inherited: true }]);
    expect(ofBelow.length).toBeGreaterThan(1);
    expect(await usage.limits('org')).toEqual([shared]);
  });
});

describe('keys in code', () => {
  it('are made for accounts of the store and the configuration, found, changed, rotated and revoked', async () => {
    await gateway.accounts.create({ id: 'keyed' });
    await gateway.keys.create({ account: 'tester' });
    const { key, record } = await gateway.keys.create({ account: 'keyed', name: 'first' }, { actor: 'eve' });
    expect(key).toMatch(/^sk-sluice-/);
    expect(await lastChange(record.id)).toMatchObject({ action: 'key.create', actor: 'eve' });
    const limits = { requests_per_minute: 2 };
    expect(await gateway.keys.change(record.id, { limits })).toMatchObject({ name: 'first', limits });
    const next = await gateway.keys.rotate(record.id, { overlap_ms: 1000, actor: 'eve' });
    expect(next.record).toMatchObject({ account: 'keyed', name: 'first', limits });
    expect(next.old.expires_ms).toBe(clock.epoch_ms() + 1000);
    expect(await lastChange(record.id)).toMatchObject({ action: 'key.rotate', actor: 'eve' });
    expect((await gateway.keys.revoke(next.record.id)).revoked_ms).toBe(clock.epoch_ms());
    expect((await gateway.keys.get(next.record.id))?.revoked_ms).toBe(clock.epoch_ms());
    expect((await gateway.keys.list({ account: 'keyed' })).map(({ id }) => id).toSorted()).toEqual(
      [record.id, next.record.id].toSorted(),
    );
  });

  it('are refused without an account, for a time that has passed and for malformed limits', async () => {
    const { keys } = gateway;
    expect(
      await Promise.all([
        faultOf(keys.create({ account: 'nobody' })),
        faultOf(keys.create({ account: 'tester', expires_ms: clock.epoch_ms() })),
        faultOf(keys.create({ account: 'tester', name: 'n'.repeat(201) })),
        faultOf(keys.create({ account: 'tester', limits: { models: {} } as object })),
        faultOf(keys.revoke('key_nobody')),
      ]),
    ).toEqual([
      "NotThere: there is no account 'nobody'",
      'RecordRefused: its end has passed already',
      "RecordRefused: a key's name has 200 characters at most, none of them control characters",
      expect.stringMatching(/^RecordRefused: limits: /),
      expect.stringMatching(/^NotThere: /),
    ]);
  });
});

describe('usage in code', () => {
  it('is the use of the limits of an account and of a key, money as exact decimals', async () => {
    await gateway.accounts.create({ id: 'limited', plan: 'free' });
    const { record } = await gateway.keys.create({ account: 'limited', limits: { tokens_per_day: 100 } });
    const states = await gateway.usage.limits('limited');
    expect(states).toEqual([
      { name: 'requests_per_minute', max: 5, used: 0, remaining: 5, resets_at: null },
      { name: 'concurrent_requests', max: 2, used: 0, remaining: 2, resets_at: null },
      {
        name: 'usd_per_month',
        max: '2.5',
        used: '0',
        remaining: '2.5',
        resets_at: '2026-12-01T00:00:00.000Z',
      },
    ]);
    expect(await gateway.usage.limitsOfKey(record.id)).toEqual([
      ...states,
      {
        name: 'tokens_per_day',
        key: record.id,
        max: 100,
        used: 0,
        remaining: 100,
        resets_at: '2026-11-22T00:00:00.000Z',
      },
    ]);
    expect(await gateway.usage.limits('tester')).toEqual([]);
    expect(await faultOf(gateway.usage.limits('nobody'))).toBe("NotThere: there is no account 'nobody'");
    expect(await faultOf(gateway.usage.limitsOfKey('key_0'))).toBe("NotThere: there is no key 'key_0'");
  });

  it('is added up by any grouping', async () => {
    const costs = ['0.000000000003', '0.1', '0.2'];
    const rows = costs.map((cost_usd, at) => ({
      ...sampleRow(),
      id: `row-${at}`,
      account: 'summed',
      cost_usd,
    }));
    await context.records.store.ledger.insert(rows);
    const [sum] = await gateway.usage.sum({ account: 'summed' });
    expect(sum).toMatchObject({ requests: 3, cost_usd: '0.300000000003' });
    const [row] = await gateway.usage.sum({ by: ['account', 'model'] });
    expect(row).toMatchObject({ account: 'summed', model: sampleRow().model, requests: 3 });
  });
});

describe('providers in code', () => {
  it('are listed with what attempts find there', async () => {
    const [upstream] = await gateway.providers.list();
    expect(upstream).toMatchObject({
      name: 'upstream',
      adapter: 'vllm',
      address: { host: '127.0.0.1', port: 9 },
      healthy: true,
      breaker: { state: 'closed' },
      bulkhead: { in_flight: 0 },
    });
    expect(await gateway.providers.get('upstream')).toEqual(upstream);
    expect(await gateway.providers.get('nobody')).toBeUndefined();
  });
});
