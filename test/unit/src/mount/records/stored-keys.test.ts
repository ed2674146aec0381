import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Account } from '../../../../../src/gateway/accounts/accounts.ts';
import { StoredKeys } from '../../../../../src/mount/records/stored-keys.ts';
import { hashKey, newSecret } from '../../../../../src/records/key-secret.ts';
import { StoreUnavailable } from '../../../../../src/records/record-errors.ts';
import type { RecordsStore } from '../../../../../src/records/records-store.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { openRecords } from '../../../../support/open-records.ts';

const start_ms = Date.parse('2026-11-20T12:00:00Z');
const operator = { actor: 'test', at_ms: start_ms };
const second_ms = 1000;
const key_cache_ttl_ms = 600 * second_ms;

let now_ms = 0;
const clock = { epoch_ms: () => start_ms + now_ms, elapsed_ms: () => now_ms };
const configured = new Map<string, Account>([['of-the-config', { id: 'of-the-config', plan: 'big' }]]);

let store: RecordsStore;
let keys: StoredKeys;
/** While set, the store answers nothing. */
let isOut: boolean;
let queries: number;

/** The store as a gateway sees it, which can be cut off. */
function reachable(): RecordsStore {
  const guarded = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return async (...args: unknown[]) => {
          queries++;
          if (isOut) throw new StoreUnavailable('cut off');
          return method.apply(target, args);
        };
      },
    });
  return {
    ...store,
    keys: guarded(store.keys),
    accounts: guarded(store.accounts),
    changes: guarded(store.changes),
  };
}

beforeEach(async () => {
  now_ms = 0;
  isOut = false;
  queries = 0;
  store = await openRecords({ kind: 'memory' });
  await store.migrate(start_ms);
  await store.accounts.create({ id: 'acme', plan: 'free', limits: {} }, operator);
  keys = new StoredKeys({
    ...reachable(),
    configured: id => configured.get(id),
    key_cache_ttl_ms,
    clock,
    log: createLog('silent'),
  });
  await keys.refresh();
});
afterEach(async () => {
  isOut = false;
  await keys.close();
  await store.close();
});

const create = (account: string, expires_ms: number | null = null) =>
  store.keys.create({ account, name: '', expires_ms }, operator);
const outage = { type: 'server_error', status: 502 };

describe.each(['key', 'account'])('a stored %s', kind => {
  /** Its account, found by a key of it or by its id. */
  let find: () => ReturnType<StoredKeys['find']>;
  let key_id: string;
  beforeEach(async () => {
    const { key, record } = await create('acme');
    key_id = record.id;
    find = () => (kind === 'key' ? keys.find(key) : keys.findById('acme'));
  });

  it('is looked up in the store first, and found synchronously afterwards', async () => {
    const looking = find();
    expect(looking).toBeInstanceOf(Promise);
    const account = await looking;
    expect(account).toEqual({
      ...{ id: 'acme', plan: 'free', limits: {} },
      ...(kind === 'key' && { key_id }),
    });
    expect(find()).toBe(account);
    expect(Object.isFrozen(account)).toBe(true);
  });

  it('is rejected where the stored limits are invalid', async () => {
    await store.accounts.change('acme', { limits: { requests_per_minut: 3 } }, operator);
    await expect(find()).rejects.toMatchObject({ type: 'configuration_error', status: 400 });
  });

  it('gets the new plan of its account, once the store has reported that', async () => {
    await find();
    await store.accounts.change('acme', { plan: 'paid' }, operator);
    await keys.refresh();
    expect(await find()).toMatchObject({ plan: 'paid' });
  });

  it('is refused while its account is disabled, without asking the store each time', async () => {
    await find();
    await store.accounts.disable('acme', operator);
    await keys.refresh();
    const disabled = { type: 'permission_error', status: 403, message: 'This account is disabled.' };
    await expect(find()).rejects.toMatchObject(disabled);
    const before = queries;
    expect(find).toThrow('This account is disabled.');
    expect(queries).toBe(before);
    await store.accounts.enable('acme', operator);
    await keys.refresh();
    expect(await find()).toMatchObject({ id: 'acme' });
  });

  it('goes on being found through an outage for the configured time', async () => {
    await find();
    isOut = true;
    now_ms = key_cache_ttl_ms;
    await keys.refresh();
    expect(find()).toMatchObject({ id: 'acme' });
    now_ms = key_cache_ttl_ms + 1;
    await expect(find()).rejects.toMatchObject(outage);
  });
});

describe.each<[string, (at: number) => ReturnType<StoredKeys['find']>]>([
  ['keys', () => keys.find(newSecret().key)],
  ['accounts', at => keys.findById(`user-${at}`)],
])('%s that are not in the store', (_, find) => {
  it('share one query with all others tried meanwhile', async () => {
    const before = queries;
    const tried = await Promise.all(Array.from({ length: 1000 }, (_, at) => find(at)));
    expect(tried.every(account => account === undefined)).toBe(true);
    expect(queries - before).toBeLessThanOrEqual(6);
  });
});

describe('a stored key', () => {
  it('has the plan of its configured account', async () => {
    const { key, record } = await create('of-the-config');
    await store.accounts.create({ id: 'of-the-config', plan: 'other', limits: {} }, operator);
    expect(await keys.find(key)).toEqual({ id: 'of-the-config', plan: 'big', key_id: record.id });
  });

  it('has the limits that are stored with its account', async () => {
    const limits = {
      requests_per_minute: 3,
      usd_per_month: null,
      models: { 'a/large': { tokens_per_day: 5 } },
    };
    await store.accounts.change('acme', { limits }, operator);
    const { key } = await create('acme');
    expect(await keys.find(key)).toMatchObject({ limits });
  });

  it('is rejected where its account does not exist', async () => {
    const { key } = await create('nowhere');
    expect(await keys.find(key)).toBeUndefined();
  });

  it('ends when it is revoked, once the store has reported that', async () => {
    const { key, record } = await create('acme');
    await keys.find(key);
    await store.keys.revoke(record.id, operator);
    await keys.refresh();
    expect(await keys.find(key)).toBeUndefined();
  });

  it('is refused like any other when it is revoked, also while its account is disabled', async () => {
    const { key, record } = await create('acme');
    await store.keys.revoke(record.id, operator);
    await store.accounts.disable('acme', operator);
    expect(await keys.find(key)).toBeUndefined();
  });

  it('has the account that a new configuration has for it, or no longer has', async () => {
    const [{ key }, { key: other }] = [await create('acme'), await create('late')];
    const found = async () => [await keys.find(key), await keys.find(other)].map(account => account?.plan);
    expect(await found()).toEqual(['free', undefined]);
    try {
      for (const [plan, id] of [
        ['big', 'acme'],
        ['small', 'late'],
      ] as const)
        configured.set(id, { id, plan });
      keys.configuredAnew(new Set());
      expect(await found()).toEqual(['free', undefined]);
      keys.configuredAnew(new Set(['acme', 'late']));
      expect(await found()).toEqual(['big', 'small']);
    } finally {
      for (const id of ['acme', 'late']) configured.delete(id);
    }
    keys.configuredAnew(new Set(['acme', 'late']));
    expect(await found()).toEqual(['free', undefined]);
  });

  it('works for a configured account whatever the store has under its name', async () => {
    const { key } = await create('of-the-config');
    await store.accounts.create({ id: 'of-the-config', plan: null, limits: {} }, operator);
    await store.accounts.disable('of-the-config', operator);
    expect(await keys.find(key)).toMatchObject({ plan: 'big' });
  });

  it('expires without a report from the store', async () => {
    const { key } = await create('acme', start_ms + 10 * second_ms);
    expect(await keys.find(key)).toBeDefined();
    now_ms = 10 * second_ms - 1;
    expect(keys.find(key)).toBeDefined();
    now_ms = 10 * second_ms;
    expect(keys.find(key)).toBeUndefined();
  });

  it('is found after the store reports it, though it was unknown a moment ago', async () => {
    const { key } = await create('acme');
    const { lookUp } = store.keys;
    store.keys.lookUp = async () => [];
    expect(await keys.find(key)).toBeUndefined();
    store.keys.lookUp = lookUp;
    expect(keys.find(key)).toBeUndefined();
    await keys.refresh();
    expect(await keys.find(key)).toBeDefined();
  });

  it('is not cached when it was revoked during its lookup', async () => {
    const { key, record } = await create('acme');
    const looking = keys.find(key);
    await store.keys.revoke(record.id, operator);
    await keys.refresh();
    await looking;
    expect(await keys.find(key)).toBeUndefined();
  });

  /** Begins to look a key up, lets `change` happen and reach the gateway, and only then gives the answer, which was read before. */
  async function lookedUpDuring(key: string, change: () => Promise<unknown>): Promise<void> {
    const { lookUp } = store.keys;
    const read = Promise.withResolvers<void>();
    const given = Promise.withResolvers<void>();
    store.keys.lookUp = async digests => {
      const found = await lookUp.call(store.keys, digests);
      read.resolve();
      await given.promise;
      return found;
    };
    const looking = keys.find(key);
    await read.promise;
    store.keys.lookUp = lookUp;
    await change();
    await keys.refresh();
    given.resolve();
    await looking;
  }

  it('is not cached when it was revoked between the read of the store and its answer', async () => {
    const { key, record } = await create('acme');
    await lookedUpDuring(key, () => store.keys.revoke(record.id, operator));
    expect(await keys.find(key)).toBeUndefined();
  });

  it('has the new plan when its account changed after the read of the store', async () => {
    const { key } = await create('acme');
    await lookedUpDuring(key, () => store.accounts.change('acme', { plan: 'paid' }, operator));
    expect(await keys.find(key)).toMatchObject({ plan: 'paid' });
  });

  it('is recorded as used when the gateway ends', async () => {
    const { key, record } = await create('acme');
    await keys.find(key);
    now_ms = 5;
    keys.find(key);
    await keys.close();
    expect((await store.keys.find(record.id))!.last_used_ms).toBe(start_ms + 5);
  });
});

describe('a key that is not in the store', () => {
  it('is not looked up when its format or checksum is wrong', () => {
    const { key } = newSecret();
    const wrong = key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
    const before = queries;
    expect(keys.find(wrong)).toBeUndefined();
    expect(keys.find('sk-other')).toBeUndefined();
    expect(keys.find(`${key} `)).toBeUndefined();
    expect(queries).toBe(before);
  });

  it('is looked up once in half a minute', async () => {
    const { key } = newSecret();
    expect(await keys.find(key)).toBeUndefined();
    for (const [at_ms, isAsked] of [
      [30 * second_ms - 1, false],
      [30 * second_ms, true],
    ] as const) {
      now_ms = at_ms;
      await keys.refresh();
      expect(keys.find(key) instanceof Promise).toBe(isAsked);
    }
  });

  it('is rejected as a gateway error when too many are tried', async () => {
    const tried = Array.from({ length: 6000 }, () => keys.find(newSecret().key));
    const results = await Promise.allSettled(tried);
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({ reason: { type: 'server_error', status: 502 } });
  });
});

describe('the key cache during an outage', () => {
  it('rejects other keys as a gateway error, never as unknown', async () => {
    const { key: unseen } = await create('acme');
    const { key: unknown } = newSecret();
    expect(await keys.find(unknown)).toBeUndefined();
    isOut = true;
    await expect(keys.find(unseen)).rejects.toMatchObject(outage);
    now_ms = 6 * second_ms;
    await expect(keys.find(unknown)).rejects.toMatchObject(outage);
  });

  it('drops a key that was revoked meanwhile as soon as the store is back', async () => {
    const { key, record } = await create('acme');
    await keys.find(key);
    isOut = true;
    await keys.refresh();
    await store.keys.revoke(record.id, operator);
    isOut = false;
    await keys.refresh();
    expect(await keys.find(key)).toBeUndefined();
  });
});

describe('a stored account', () => {
  it('is found once the store has reported it, though it was unknown a moment ago', async () => {
    expect(await keys.findById('late')).toBeUndefined();
    await store.accounts.create({ id: 'late', plan: null, limits: {} }, operator);
    expect(keys.findById('late')).toBeUndefined();
    await keys.refresh();
    expect(await keys.findById('late')).toMatchObject({ id: 'late', plan: undefined });
  });

  it.each(['', ' acme', 'a b', '__proto__', 'x'.repeat(129), 'a\0b', 'DROP TABLE accounts; --'])(
    'is not looked up by %j, which can be no id of one',
    id => {
      const before = queries;
      expect(keys.findById(id)).toBeUndefined();
      expect(queries).toBe(before);
    },
  );

  it('is asked for once while it is unknown, and is not unknown in an outage', async () => {
    expect(await keys.findById('nobody')).toBeUndefined();
    expect(keys.findById('nobody')).toBeUndefined();
    isOut = true;
    now_ms = key_cache_ttl_ms;
    await keys.refresh();
    await expect(keys.findById('nobody')).rejects.toMatchObject(outage);
  });
});

describe('an account below others', () => {
  const limits = {};
  beforeEach(async () => {
    configured.set('config-org', { id: 'config-org', plan: 'huge' });
    await store.accounts.create({ id: 'org', plan: 'big', limits }, operator);
    await store.accounts.create({ id: 'team', plan: null, limits, parent: 'org' }, operator);
    await store.accounts.change('acme', { parent: 'team' }, operator);
  });
  afterEach(() => void configured.delete('config-org'));

  const settle = (id: string, set: Parameters<RecordsStore['accounts']['change']>[1]) =>
    store.accounts.change(id, set, operator).then(() => keys.refresh());
  const above = async (key: string) =>
    (await keys.find(key))?.parents?.map(({ id, plan }) => `${id} ${plan}`);

  it('has them with it, as they are by the last change, in the store or the configuration', async () => {
    const { key, record } = await create('acme');
    expect(await keys.find(key)).toEqual({
      ...{ id: 'acme', plan: 'free', limits, key_id: record.id },
      parents: [
        { id: 'team', plan: undefined, limits, parents: [{ id: 'org', plan: 'big', limits }] },
        { id: 'org', plan: 'big', limits },
      ],
    });
    expect((await keys.findById('acme'))?.parents).toHaveLength(2);
    expect(keys.find(key)).not.toBeInstanceOf(Promise);
    await settle('org', { plan: 'bigger' });
    expect(await above(key)).toEqual(['team undefined', 'org bigger']);
    expect((await keys.findById('acme'))?.parents?.[1]).toMatchObject({ plan: 'bigger' });
    await settle('team', { parent: 'config-org' });
    expect(await above(key)).toEqual(['team undefined', 'config-org huge']);
    configured.set('config-org', { id: 'config-org', plan: 'small' });
    keys.configuredAnew(new Set(['config-org']));
    expect(await above(key)).toEqual(['team undefined', 'config-org small']);
    await settle('acme', { parent: null });
    expect(await above(key)).toBeUndefined();
  });

  it('may use what it, those above it and the key name, and nothing where a list is malformed', async () => {
    const made = await store.keys.create(
      { account: 'acme', name: '', expires_ms: null, models: ['a/*'] },
      operator,
    );
    await settle('acme', { models: ['a/b'] });
    expect((await keys.find(made.key))?.model_lists).toEqual([['a/*'], ['a/b']]);
    await settle('org', { models: [] });
    expect((await keys.find(made.key))?.model_lists).toEqual([['a/*'], ['a/b'], []]);
    expect((await keys.findById('acme'))?.model_lists).toEqual([['a/b'], []]);
    await settle('team', { models: 'a/b' as never });
    await expect(keys.find(made.key)).rejects.toMatchObject({ type: 'configuration_error', status: 400 });
  });

  it('is refused while one of them is disabled', async () => {
    const { key } = await create('acme');
    await keys.find(key);
    await store.accounts.disable('org', operator);
    await keys.refresh();
    for (const find of [() => keys.find(key), () => keys.findById('acme')])
      await expect(find()).rejects.toMatchObject({ type: 'permission_error', status: 403 });
    await store.accounts.enable('org', operator);
    await keys.refresh();
    expect(await above(key)).toHaveLength(2);
  });

  it('is refused while one of them is missing, or there are too many, which the store cannot know', async () => {
    const { key } = await create('acme');
    const unusable = { type: 'configuration_error', status: 400 };
    await settle('team', { parent: 'gone' });
    await expect(keys.find(key)).rejects.toMatchObject(unusable);
    configured.set('config-org', { id: 'config-org', plan: 'huge', parents: [{ id: 'top', plan: 'p' }] });
    await settle('team', { parent: 'config-org' });
    await expect(keys.find(key)).rejects.toMatchObject(unusable);
    configured.set('config-org', { id: 'config-org', plan: 'huge' });
    expect(await above(key)).toHaveLength(2);
  });
});

describe('a key that was made elsewhere', () => {
  it('is found by the hash of its text once it is imported, and not asked for before', async () => {
    const key = 'sk-of-another-gateway';
    const before = queries;
    expect(keys.find(key)).toBeUndefined();
    expect(queries).toBe(before);
    await store.keys.import!([{ account: 'acme', name: '', digest: hashKey(key) }], operator);
    await keys.refresh();
    expect(await keys.find(key)).toMatchObject({ id: 'acme', key_id: expect.stringMatching(/^key_/) });
    expect(await keys.find('sk-of-nobody')).toBeUndefined();
  });
});
