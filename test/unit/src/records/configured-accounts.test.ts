import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { accountsSchema, ConfiguredAccounts } from '../../../../src/records/configured-accounts.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const sha256 = (key: string) => createHash('sha256').update(key).digest('hex');
const accounts = accountsSchema.parse({
  demo: { plan: 'free', keys: [{ value: 'sk-demo-1' }, { sha256: sha256('sk-demo-2') }] },
  other: { keys: [{ sha256: sha256('ключ-🔑-1').toUpperCase() }] },
  bare: {},
});
const directory = new ConfiguredAccounts(accounts);

describe('the accounts of a configuration', () => {
  it.each([
    ['sk-demo-1', 'demo'],
    ['sk-demo-2', 'demo'],
    ['ключ-🔑-1', 'other'],
  ])('are found by the key %s', (key, id) => {
    expect(directory.find(key)).toMatchObject({ id });
  });

  it('have their plan, and are the same for all their keys', () => {
    expect(directory.find('sk-demo-1')).toEqual({ id: 'demo', plan: 'free' });
    expect(directory.find('sk-demo-1')).toBe(directory.find('sk-demo-2'));
    expect(directory.find('ключ-🔑-1')!.plan).toBeUndefined();
    expect(Object.isFrozen(directory.find('sk-demo-1'))).toBe(true);
  });

  it.each([
    '',
    'sk-demo-3',
    'SK-DEMO-1',
    ' sk-demo-1',
    'demo',
    sha256('sk-demo-1'),
    sha256('sk-demo-2'),
    '__proto__',
  ])('are not found by %j', key => {
    expect(directory.find(key)).toBeUndefined();
  });

  it.each([
    [{ value: 'short' }],
    [{ sha256: 'abc' }],
    [{ sha256: 'g'.repeat(64) }],
    [{ value: 'sk-demo-1', sha256: sha256('sk-demo-1') }],
    [{}],
    ['sk-demo-1'],
  ])('cannot have the key %j', key => {
    expect(accountsSchema.safeParse({ demo: { keys: [key] } }).success).toBe(false);
  });

  it('have those above them, the nearest first, and are others when one of those is', () => {
    const tree = (plan: string) =>
      accountsSchema.parse({
        acme: { parent: 'team', keys: [{ value: 'sk-acme-1' }] },
        team: { plan: 'free', parent: 'org' },
        org: { plan },
        beside: { plan: 'free' },
      });
    const placed = new ConfiguredAccounts(tree('big'));
    expect(placed.find('sk-acme-1')?.parents).toEqual([placed.findById('team'), placed.findById('org')]);
    expect(placed.findById('org')).not.toHaveProperty('parents');
    expect(placed.below('org').toSorted()).toEqual(['acme', 'team']);
    expect(placed.below('acme')).toEqual([]);
    expect([...placed.replace(tree('bigger'))].toSorted()).toEqual(['acme', 'org', 'team']);
    expect(placed.find('sk-acme-1')?.parents?.[1]).toBe(placed.findById('org'));
    expect(placed.replace(tree('bigger')).size).toBe(0);
  });

  it.each<[string, Record<string, object>, string]>([
    [
      'that is not there',
      { acme: { parent: 'orgg' }, org: {} },
      "there is no account 'orgg'; did you mean 'org'?",
    ],
    ['itself', { acme: { parent: 'acme' } }, "the account 'acme' would be above itself: acme → acme"],
    [
      'one below it',
      { a: { parent: 'b' }, b: { parent: 'a' } },
      "the account 'a' would be above itself: a → b → a",
    ],
    [
      'that is the third above it',
      { a: { parent: 'b' }, b: { parent: 'c' }, c: { parent: 'd' }, d: {} },
      "the account 'a' would have more than 2 accounts above it: a → b → c → d",
    ],
  ])('cannot have as parent one %s', (_, given, message) => {
    const { error } = accountsSchema.safeParse(given);
    expect(error?.issues[0]).toMatchObject({
      path: [expect.any(String), 'parent'],
      message: expect.stringContaining(message),
    });
  });

  it('have of a key its name, limits, models and end, and are themselves where it has none', () => {
    const clock = new FakeClock(Date.parse('2027-01-30T23:59:59Z'));
    const limits = { requests_per_minute: 2 };
    const given = accountsSchema.parse({
      acme: {
        models: ['a/*'],
        keys: [
          { value: 'sk-plain-1' },
          { value: 'sk-named-1', name: 'ci', limits, models: ['a/b'], expires: '2027-01-31' },
        ],
      },
    });
    const named = new ConfiguredAccounts(given, clock);
    const account = { id: 'acme', plan: undefined, limits: undefined };
    expect(named.find('sk-plain-1')).toBe(named.findById('acme'));
    expect(named.find('sk-named-1')).toEqual({
      ...account,
      key_id: 'acme/ci',
      key_limits: limits,
      model_lists: [['a/b'], ['a/*']],
    });
    const before = named.find('sk-named-1');
    expect(named.replace(given).size).toBe(0);
    expect(named.find('sk-named-1')).toBe(before);
    clock.advance(1000);
    expect(named.find('sk-named-1')).toBeUndefined();
    expect(named.find('sk-plain-1')).toMatchObject(account);
  });

  it.each<[object[], string]>([
    [[{ value: 'sk-one-1234', limits: { requests_per_minute: 1 } }], 'need a name'],
    [
      [
        { value: 'sk-one-1234', name: 'a' },
        { value: 'sk-two-1234', name: 'a' },
      ],
      "another key is called 'a'",
    ],
    [[{ value: 'sk-one-1234', name: 'a/b' }], 'must be 1 to 64 letters'],
    [[{ value: 'sk-one-1234', expires: '31.1.2027' }], 'must be a day such as'],
  ])('cannot have keys such as %j', (keys, message) => {
    const { error } = accountsSchema.safeParse({ acme: { keys } });
    expect(error?.issues[0]?.message).toContain(message);
  });

  it('are replaced at once; those that came, went or changed are named, and all others are the same objects', () => {
    const keys = (...values: string[]) => values.map(value => ({ value }));
    const replaced = new ConfiguredAccounts(
      accountsSchema.parse({
        same: { plan: 'free', limits: { requests_per_minute: 1 }, keys: keys('sk-same-1') },
        planned: { plan: 'free', keys: keys('sk-planned') },
        limited: { limits: { requests_per_minute: 1 } },
        gone: { keys: keys('sk-gone-1') },
      }),
    );
    const same = replaced.findById('same');
    const changed = replaced.replace(
      accountsSchema.parse({
        same: { plan: 'free', limits: { requests_per_minute: 1 }, keys: keys('sk-same-2') },
        planned: { plan: 'paid', keys: keys('sk-planned') },
        limited: { limits: { requests_per_minute: 2 } },
        come: {},
      }),
    );
    expect([...changed].toSorted()).toEqual(['come', 'gone', 'limited', 'planned']);
    expect([replaced.findById('same'), replaced.find('sk-same-2')]).toEqual([same, same]);
    expect(replaced.find('sk-same-2')).toBe(same);
    expect(replaced.find('sk-planned')).toMatchObject({ plan: 'paid' });
    expect(['sk-same-1', 'sk-gone-1'].map(key => replaced.find(key))).toEqual([undefined, undefined]);
    expect(replaced.findById('gone')).toBeUndefined();
  });
});
