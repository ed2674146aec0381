import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashKey, isAdminKeyForm, isStoredKeyForm } from '../../src/records/key-secret.ts';
import { NameTaken, NotThere, RequestRepeated } from '../../src/records/record-errors.ts';
import type { RecordsStore } from '../../src/records/records-store.ts';
import { openRecords, type RecordsTarget } from '../support/open-records.ts';
import { recordsTargets } from '../support/records-targets.ts';

const now_ms = Date.parse('2026-11-20T12:00:00Z');
const day_ms = 86_400_000;
const alice = { actor: 'cli:alice', at_ms: now_ms };
const targets = recordsTargets();

const kinds: readonly [string, () => Promise<RecordsTarget>][] = [
  ['SQLite', async () => ({ kind: 'sqlite', path: targets.newFile() })],
  ['Postgres', async () => ({ kind: 'postgres', url: await targets.newDatabase() })],
];

describe.each(kinds)('what the Admin API keeps in %s', (_, newTarget) => {
  let store: RecordsStore;
  let other: RecordsStore;

  beforeAll(async () => {
    const target = await newTarget();
    store = await openRecords(target);
    await store.migrate(now_ms);
    other = await openRecords(target);
  });
  afterAll(() => Promise.all([store.close(), other.close()]));

  const key = (name: string) => ({ name, role: 'viewer', expires_ms: now_ms + 1000 }) as const;

  it('makes keys with a role and an end, finds them by their digest, and revokes them once', async () => {
    const keys = store.adminKeys!;
    const made = await keys.create(key('robot'), alice);
    expect(isAdminKeyForm(made.key)).toBe(true);
    expect(isStoredKeyForm(made.key)).toBe(false);
    expect(await keys.lookUp(hashKey(made.key))).toEqual(made.record);
    expect(made.record).toMatchObject({ ...key('robot'), revoked_ms: null, last_used_ms: null });
    for (const later of [5, 3]) await keys.used(made.record.id, now_ms + later);
    const revoked = await keys.revoke(made.record.id, alice);
    expect(revoked).toEqual({ ...made.record, last_used_ms: now_ms + 5, revoked_ms: now_ms });
    expect(await keys.revoke(made.record.id, { ...alice, at_ms: now_ms + 9 })).toEqual(revoked);
    await expect(keys.revoke('admin_key_none', alice)).rejects.toThrow(NotThere);
    const entries = await store.audit.list({ target: made.record.id, limit: 9 });
    expect(entries.map(({ action }) => action)).toEqual(['admin-key.revoke', 'admin-key.create']);
    expect(JSON.stringify(entries)).not.toContain(hashKey(made.key));
  });

  it('lists keys, the newest first, those in use or all, and takes a name again that none of those has', async () => {
    const keys = store.adminKeys!;
    const { record } = await keys.create(key('Deploy'), alice);
    const both = [keys.create(key('two'), alice), other.adminKeys!.create(key('TWO'), alice)];
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await expect(keys.create(key('deploy'), alice)).rejects.toThrow(NameTaken);
    const usable = await keys.list({ usable_at_ms: now_ms, search: 'depl', limit: 9 });
    expect(usable).toEqual([record]);
    const later = { ...alice, at_ms: now_ms + 2000 };
    await keys.create({ ...key('deploy'), expires_ms: null }, later);
    expect(await keys.list({ search: 'depl', limit: 9 })).toHaveLength(2);
    expect(await keys.list({ usable_at_ms: later.at_ms, search: 'depl', limit: 9 })).toHaveLength(1);
  });

  it('carries out a request once at all instances, and keeps its answer for a day', async () => {
    const once = { id: hashKey('a request'), fingerprint: 'f' };
    const by = { ...alice, once };
    const create = (at: RecordsStore, id: string) => at.accounts.create({ id, plan: null, limits: {} }, by);
    const outcomes = await Promise.allSettled([
      create(store, 'one'),
      create(other, 'two'),
      create(store, 'three'),
    ]);
    const made = outcomes.flatMap(one => (one.status === 'fulfilled' ? [one.value.id] : []));
    expect(made).toHaveLength(1);
    for (const one of outcomes)
      if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(RequestRepeated);
    expect((await store.accounts.list({ limit: 9 })).map(({ id }) => id)).toEqual(made);
    expect(await store.audit.count({ actions: ['account.create'] })).toBe(1);
    expect(await other.requests!.find(once.id, now_ms)).toEqual({ ...once, target: made[0], answer: null });
    await store.requests!.keep(once.id, 'sealed');
    expect(await other.requests!.find(once.id, now_ms + day_ms - 1)).toMatchObject({ answer: 'sealed' });
    expect(await other.requests!.find(once.id, now_ms + day_ms)).toBeUndefined();
    // The same key is another request then.
    const late = { ...by, at_ms: now_ms + day_ms };
    await store.accounts.create({ id: 'next-day', plan: null, limits: {} }, late);
    expect(await store.requests!.find(once.id, late.at_ms)).toMatchObject({ target: 'next-day' });
    expect(await store.pruning.requests!(late.at_ms, 100)).toBe(1);
  });

  it('does not count a request as carried out that was refused', async () => {
    const once = { id: hashKey('a refused request'), fingerprint: 'f' };
    const account = { id: 'taken', plan: null, limits: {} };
    await store.accounts.create(account, alice);
    await expect(store.accounts.create(account, { ...alice, once })).rejects.toThrow('already');
    expect(await store.requests!.find(once.id, now_ms)).toBeUndefined();
    const { record } = await store.keys.create(
      { account: 'taken', name: '', expires_ms: null },
      { ...alice, once },
    );
    expect(await store.requests!.find(once.id, now_ms)).toMatchObject({ target: record.id });
  });

  it('checks a record within the transaction that changes it, so that one change of several is made', async () => {
    const { record } = await store.keys.create({ account: 'taken', name: 'n', expires_ms: null }, alice);
    const check = (now: object) => {
      if (JSON.stringify(now) !== JSON.stringify(record)) throw new Error('changed meanwhile');
    };
    const named = (name: string) => (now: object) => {
      check(now);
      return { name };
    };
    const outcomes = await Promise.allSettled([
      store.keys.change(record.id, named('a'), alice),
      other.keys.change(record.id, named('b'), alice),
      other.keys.rotate(record.id, 0, alice, { check }),
      store.keys.revoke(record.id, alice, check),
    ]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const account = await store.accounts.create({ id: 'switched', plan: null, limits: {} }, alice);
    const isEnabled = (now: { readonly disabled_ms: number | null }) => {
      if (now.disabled_ms !== account.disabled_ms) throw new Error('disabled meanwhile');
    };
    await store.accounts.disable('switched', alice, isEnabled);
    await expect(other.accounts.enable('switched', alice, isEnabled)).rejects.toThrow('disabled meanwhile');
  });
});
