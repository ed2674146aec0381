import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { accountsSchema, ConfiguredAccounts } from '../../../../src/records/configured-accounts.ts';

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
