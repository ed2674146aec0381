import { createHash } from 'node:crypto';
import { MessageChannel } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import {
  classOfType,
  endClassOf,
  endReasons,
  errorClasses,
  errorNameOf,
  noErrors,
} from '../../src/common/end-class.ts';
import { timeOrderedUuid } from '../../src/common/ids.ts';
import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { channelDatabase } from '../../src/mount/records/channel-database.ts';
import { serveDatabase } from '../../src/mount/records/serve-database.ts';
import { Channel } from '../../src/mount/workers/channel.ts';
import { isStoredKeyForm } from '../../src/records/key-secret.ts';
import {
  AlreadyThere,
  KeyEnded,
  KeyExists,
  NameTaken,
  NotThere,
  RecordRefused,
  TooManyKeys,
} from '../../src/records/record-errors.ts';
import type { RecordsStore } from '../../src/records/records-store.ts';
import type { BudgetSum } from '../../src/records/usage-records.ts';
import type { RecordsTarget } from '../support/open-records.ts';
import { openRecords } from '../support/open-records.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const now_ms = Date.parse('2026-11-20T12:00:00Z');
const alice = { actor: 'cli:alice', at_ms: now_ms };
const day_ms = 86_400_000;

const row = (more: Partial<LedgerRow> = {}): LedgerRow => sampleRow({ id: timeOrderedUuid(now_ms), ...more });

const throttled = { status: 429, error_type: 'rate_limit_error', end_reason: 'refused' };

const targets = recordsTargets();
const primaries: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const close of primaries) await close();
});

const kinds: readonly [string, () => Promise<RecordsTarget>][] = [
  ['memory', async () => ({ kind: 'memory' })],
  ['SQLite', async () => ({ kind: 'sqlite', path: targets.newFile() })],
  ['Postgres', async () => ({ kind: 'postgres', url: await targets.newDatabase() })],
  ['the primary process', async () => ({ kind: 'worker', database: channelDatabase(await served()) })],
  ["a pool of the application's", async () => ({ kind: 'pool', pool: await targets.newPool(unlike) })],
];

/** The end of a worker, whose primary has its records in a new file. */
async function served(): Promise<Channel> {
  const { port1, port2 } = new MessageChannel();
  const own = await openRecords({ kind: 'sqlite', path: targets.newFile() });
  await own.migrate(now_ms);
  serveDatabase(new Channel(port2), own.database!);
  primaries.push(() => {
    port1.close();
    return own.close();
  });
  return new Channel(port1);
}

/** Settings that would break the records if they applied to them. */
const unlike: pg.PoolConfig = {
  max: 1,
  query_timeout: 1,
  options: '-c search_path=app',
  types: { getTypeParser: () => () => 'parsed by the application' },
};

describe.each(kinds)('the records store in %s', (kind, newTarget) => {
  let target: RecordsTarget;
  let store: RecordsStore;

  beforeAll(async () => {
    target = await newTarget();
    store = await openRecords(target);
    await store.migrate(now_ms);
  });
  afterAll(() => store.close());

  const keyOf = (account: string, name = '') => store.keys.create({ account, name, expires_ms: null }, alice);

  it('keeps accounts with their plans and limits', async () => {
    const acme = await store.accounts.create(
      { id: 'acme', plan: 'free', limits: { requests_per_minute: 3 } },
      alice,
    );
    await store.accounts.create({ id: 'Zeta%_!', plan: null, limits: {} }, alice);
    for (const id of ['acme', 'ACME', 'aCme'])
      await expect(store.accounts.create({ id, plan: null, limits: {} }, alice)).rejects.toMatchObject({
        name: 'AlreadyThere',
        taken: 'acme',
      });
    expect(await store.accounts.find('acme')).toEqual(acme);
    expect(await store.accounts.find('nobody')).toBeUndefined();
    expect(await store.accounts.lookUp(['nobody', 'acme'])).toEqual([acme]);
    const told = { contacts: ['ann@acme.example', 'bob@acme.example'] };
    expect(await store.accounts.change('acme', told, alice)).toEqual({ ...acme, ...told });
    expect(await store.accounts.change('acme', { contacts: [] }, alice)).toEqual(acme);
    const changed = await store.accounts.change('acme', { plan: 'paid' }, alice);
    expect(changed).toEqual({ ...acme, plan: 'paid' });
    expect((await store.accounts.change('acme', { limits: {} }, alice)).plan).toBe('paid');
    await expect(store.accounts.change('nobody', { plan: 'paid' }, alice)).rejects.toThrow(NotThere);
  });

  it('keeps one control of each provider, tells all of them with every change, and who has made it', async () => {
    const controls = store.controls!;
    const { change } = await store.changes.since(undefined);
    const paused = {
      provider: 'vllm',
      state: 'paused',
      weight: null,
      until_ms: null,
      reason: 'billing',
    } as const;
    const drained = { ...paused, state: 'draining', until_ms: now_ms + 5, reason: '' } as const;
    const weighed = { ...paused, provider: 'other', state: 'active', weight: 0.5, reason: '' } as const;
    expect(await controls.set(paused, alice)).toEqual({ ...paused, ...alice });
    await controls.set(drained, alice);
    await controls.set(weighed, alice);
    const all = [
      { ...weighed, ...alice },
      { ...drained, ...alice },
    ];
    expect(await controls.list()).toEqual(all);
    const told = await store.changes.since(change);
    expect(told).toMatchObject({ change: change + 3, controls: all });
    expect(await store.changes.since(told.change)).not.toHaveProperty('controls');
    expect(await store.changes.since(undefined)).toMatchObject({ controls: all });
    const later = { ...alice, at_ms: now_ms + 5 };
    expect(await controls.clear('vllm', later)).toBe(false);
    expect(await controls.clear('other', later)).toBe(true);
    await controls.set(paused, later);
    expect(await controls.list()).toEqual([{ ...paused, ...later }]);
    await controls.clear('vllm', later);
    const entries = await store.audit.list({ actions: ['provider.change'], limit: 9 });
    expect(entries.map(({ target, detail }) => [target, JSON.parse(detail)]).reverse()).toEqual([
      ['vllm', { state: 'paused', reason: 'billing' }],
      ['vllm', { state: 'draining', until_ms: now_ms + 5, before: { state: 'paused', reason: 'billing' } }],
      ['other', { state: 'active', weight: 0.5 }],
      ['other', { state: 'active', before: { state: 'active', weight: 0.5 } }],
      ['vllm', { state: 'paused', reason: 'billing' }],
      ['vllm', { state: 'active', before: { state: 'paused', reason: 'billing' } }],
    ]);
  });

  it('refuses controls that cannot be', async () => {
    const { set } = store.controls!;
    const paused = { provider: 'p', state: 'paused', weight: null, until_ms: null, reason: '' } as const;
    for (const wrong of [
      { state: 'closed' as never },
      { weight: 1 },
      { state: 'active' as const },
      { state: 'active' as const, weight: -1 },
      { state: 'active' as const, weight: Number.NaN },
      { until_ms: now_ms },
      { until_ms: Number.NaN },
      { reason: 'x'.repeat(201) },
      { reason: 'a\nb' },
    ])
      await expect(set({ ...paused, ...wrong }, alice)).rejects.toThrow(RecordRefused);
    expect(await store.controls!.list()).toEqual([]);
  });

  it('keeps sessions with their last use until they end, and sign-ins in the audit log', async () => {
    const digest = sha256('a session');
    const session = { digest, actor: 'olga', role: 'admin', account: '', proof: 'x', started_ms: now_ms };
    await store.sessions.start({ ...session, seen_ms: now_ms }, { started_ms: 0, seen_ms: 0 });
    for (const later of [5, 3]) await store.sessions.seen(digest, now_ms + later);
    expect(await store.sessions.find(digest)).toEqual({ ...session, seen_ms: now_ms + 5 });
    await store.sessions.end({ digest });
    expect(await store.sessions.find(digest)).toBeUndefined();
    await store.audit.record(alice, 'sign-in.end', 'dashboard');
    expect(await store.audit.list({ target: 'dashboard', limit: 1 })).toMatchObject([
      { action: 'sign-in.end' },
    ]);
  });

  it('deletes ended sessions of the area in which another begins, and none of the other area', async () => {
    const start = (area: 'dashboard' | 'portal', at: number, ended: number) => {
      const role = area === 'portal' ? 'customer' : 'viewer';
      const who = { actor: 'anna', role, account: area === 'portal' ? 'acme' : '', proof: '' };
      const times = { started_ms: now_ms + at, seen_ms: now_ms + at };
      const session = { ...who, ...times, digest: sha256(`${area} ${at}`) };
      return store.sessions.start(session, { started_ms: now_ms + ended, seen_ms: now_ms + ended });
    };
    const left = async () => {
      const all = ['dashboard 1', 'portal 1', 'dashboard 5', 'portal 6'];
      const found = await Promise.all(all.map(name => store.sessions.find(sha256(name))));
      return all.filter((_, at) => found[at]);
    };
    await start('dashboard', 1, 0);
    await start('portal', 1, 0);
    await start('dashboard', 5, 1);
    expect(await left()).toEqual(['portal 1', 'dashboard 5']);
    await start('portal', 6, 5);
    expect(await left()).toEqual(['dashboard 5', 'portal 6']);
    for (const name of await left()) await store.sessions.end({ digest: sha256(name) });
  });

  it('ends the oldest of many sessions of a customer, and none of a namesake at another account', async () => {
    const session = { actor: 'cora', role: 'customer', proof: '', started_ms: now_ms };
    const start = (account: string, at: number) =>
      store.sessions.start(
        { ...session, digest: sha256(`${account} ${at}`), account, seen_ms: now_ms + at },
        { started_ms: 0, seen_ms: 0 },
      );
    await start('other', 0);
    for (let at = 0; at <= 20; at++) await start('acme', at);
    expect(await store.sessions.find(sha256('acme 0'))).toBeUndefined();
    expect(await store.sessions.find(sha256('acme 1'))).toBeDefined();
    expect(await store.sessions.find(sha256('other 0'))).toBeDefined();
    for (const account of ['acme', 'other']) await store.sessions.end({ account });
  });

  it('keeps sign-ins of customers, each with one invitation that is accepted once', async () => {
    const { customers } = store;
    const invite = (name: string, account: string, digest: string) =>
      customers.invite({ name, account, digest, until_ms: now_ms + day_ms }, alice);
    const from = { at_ms: now_ms + 1 };
    await invite('Cora', 'acme', 'first');
    await invite('cora', 'acme', 'second');
    await expect(invite('CORA', 'other', 'third')).rejects.toThrow(NameTaken);
    expect(await customers.accept('first', 'hash', from, String)).toBeUndefined();
    expect(await customers.invited('second', now_ms + day_ms)).toBeUndefined();
    expect(await customers.accept('second', 'hash', from, String)).toMatchObject({ name: 'Cora' });
    expect(await customers.accept('second', 'other', from, String)).toBeUndefined();
    const cora = (await customers.find('CORA'))!;
    expect(cora).toEqual({
      name: 'Cora',
      account: 'acme',
      password_hash: 'hash',
      created_ms: now_ms,
      invited_until_ms: null,
    });
    await invite('Cora', 'acme', 'third');
    expect(await customers.changePassword(cora, 'next', alice)).toBe(true);
    expect(await customers.changePassword(cora, 'lost', alice)).toBe(false);
    // An invitation that was open has ended with the old password.
    expect(await customers.invited('third', now_ms)).toBeUndefined();
    await customers.remove({ name: 'Cora', account: 'other' }, alice);
    expect((await customers.list('acme')).map(({ password_hash }) => password_hash)).toEqual(['next']);
    const session = {
      actor: 'Cora',
      role: 'customer',
      account: 'acme',
      proof: '',
      digest: sha256('of cora'),
    };
    const times = { started_ms: now_ms, seen_ms: now_ms };
    await store.sessions.start({ ...session, ...times }, { started_ms: 0, seen_ms: 0 });
    await customers.remove({ name: 'cora', account: 'acme' }, alice);
    expect(await store.sessions.find(session.digest)).toBeUndefined();
    expect(await customers.list('acme')).toEqual([]);
    const entries = await store.audit.list({ target: 'acme', limit: 20 });
    const actions = entries.map(({ action }) => action).filter(action => action.startsWith('customer.'));
    expect(actions.sort()).toEqual([
      'customer.accept',
      'customer.invite',
      'customer.invite',
      'customer.invite',
      'customer.password',
      'customer.remove',
    ]);
  });

  it('issues no more keys to an account than it may have', async () => {
    const key = { account: 'few', name: '', expires_ms: null, max_usable: 2 };
    const { record } = await store.keys.create(key, alice);
    await store.keys.create(key, alice);
    await expect(store.keys.create(key, alice)).rejects.toThrow(TooManyKeys);
    await expect(store.keys.rotate(record.id, day_ms, alice, key)).rejects.toThrow(TooManyKeys);
    await store.keys.rotate(record.id, 0, alice, key);
    expect(await store.keys.count({ account: 'few', usable_at_ms: now_ms })).toBe(2);
  });

  it('finds accounts by any part of their name, special characters included', async () => {
    const ids = async (search: string) =>
      (await store.accounts.list({ search, limit: 9 })).map(({ id }) => id);
    expect(await ids('ZETA')).toEqual(['Zeta%_!']);
    expect(await ids('%_!')).toEqual(['Zeta%_!']);
    expect(await ids('%')).toEqual(['Zeta%_!']);
    expect(await ids('')).toEqual(['Zeta%_!', 'acme'].sort());
    expect(await ids("' OR 1=1 --")).toEqual([]);
    expect(await store.accounts.count({ plan: 'paid' })).toBe(1);
  });

  it('finds accounts by their display names, and leaves those out that were replaced', async () => {
    const ids = async (search: string) =>
      (await store.accounts.list({ search, limit: 9 })).map(({ id }) => id);
    const shown = { id: 'shown', plan: null, limits: {}, display_name: 'Émile & Sons' };
    expect(await store.accounts.create(shown, alice)).toMatchObject({ ...shown, disabled_ms: null });
    expect(await ids('émile')).toEqual(['shown']);
    await store.accounts.change('shown', { display_name: 'Daughters' }, alice);
    expect([await ids('ÉMILE'), await ids('daughter'), await ids('HOWN')]).toEqual([
      [],
      ['shown'],
      ['shown'],
    ]);
  });

  it('disables and enables an account once, with an entry and a change for each', async () => {
    await store.accounts.create({ id: 'switched', plan: null, limits: {} }, alice);
    const { change } = await store.changes.since(undefined);
    expect((await store.accounts.disable('switched', alice)).disabled_ms).toBe(now_ms);
    expect((await store.accounts.disable('switched', { ...alice, at_ms: 5 })).disabled_ms).toBe(now_ms);
    expect(await store.changes.since(change)).toMatchObject({
      change: change + 1,
      of: { accounts: ['switched'] },
    });
    expect((await store.accounts.enable('switched', alice)).disabled_ms).toBeNull();
    const entries = await store.audit.list({ target: 'switched', limit: 9 });
    expect(entries.map(({ action }) => action).sort()).toEqual([
      'account.create',
      'account.disable',
      'account.enable',
    ]);
    await expect(store.accounts.disable('nobody', alice)).rejects.toThrow(NotThere);
  });

  it('records what was there before a change, and nothing for one that changes nothing', async () => {
    const limits = { requests_per_minute: 3, tokens_per_day: 9 };
    await store.accounts.create({ id: 'before', plan: 'free', limits }, alice);
    const later = { ...alice, at_ms: now_ms + 1000 };
    await store.accounts.change('before', { limits: { requests_per_minute: 5, tokens_per_day: 9 } }, later);
    await store.accounts.change('before', { limits: { tokens_per_day: 9, requests_per_minute: 5 } }, later);
    await store.accounts.change('before', { plan: 'free' }, later);
    const next = { ...alice, at_ms: now_ms + 2000 };
    await store.accounts.change('before', { plan: null, limits: { usd_per_month: null } }, next);
    const entries = await store.audit.list({ target: 'before', limit: 9 });
    expect(entries.map(({ detail }) => JSON.parse(detail))).toEqual([
      {
        plan: null,
        limits: { usd_per_month: null },
        before: { plan: 'free', limits: { requests_per_minute: 5, tokens_per_day: 9 } },
      },
      { limits: { requests_per_minute: 5 }, before: { limits: { requests_per_minute: 3 } } },
      { plan: 'free', limits },
    ]);
  });

  it('keeps only the digest and the last characters of a key', async () => {
    const { key, record } = await store.keys.create(
      { account: 'acme', name: 'laptop', expires_ms: now_ms + day_ms },
      alice,
    );
    expect(isStoredKeyForm(key)).toBe(true);
    expect(record).toEqual({
      id: expect.stringMatching(/^key_[0-9a-z]{18}$/),
      account: 'acme',
      name: 'laptop',
      hint: key.slice(-4),
      limits: {},
      models: null,
      tags: {},
      created_ms: now_ms,
      expires_ms: now_ms + day_ms,
      revoked_ms: null,
      last_used_ms: null,
    });
    const found = await store.keys.lookUp([sha256(key), sha256('another')]);
    expect(found).toEqual([
      {
        id: record.id,
        digest: sha256(key),
        account: 'acme',
        expires_ms: now_ms + day_ms,
        revoked_ms: null,
        limits: {},
        models: null,
        stored: { plan: 'paid', limits: {}, models: null, parent: null, disabled_ms: null },
      },
    ]);
  });

  it('keeps the parents of accounts, two above each at most, and none above itself', async () => {
    const create = (id: string, parent: string | null = null) =>
      store.accounts.create({ id, plan: null, limits: {}, parent }, alice);
    const move = (id: string, parent: string | null) => store.accounts.change(id, { parent }, alice);
    await create('t-org');
    const team = await create('t-team', 't-org');
    expect(team.parent).toBe('t-org');
    await create('t-acme');
    expect(await move('t-acme', 't-team')).toMatchObject({ parent: 't-team' });
    const below = (await store.accounts.below(['t-org', 't-team', 't-acme'])).map(
      one => `${one.id} < ${one.above}`,
    );
    expect(below.toSorted()).toEqual(['t-acme < t-org', 't-acme < t-team', 't-team < t-org']);
    await expect(move('t-org', 't-org')).rejects.toThrow("'t-org' would be above itself: t-org → t-org");
    await expect(move('t-org', 't-acme')).rejects.toThrow('would be above itself');
    await expect(create('t-key', 't-acme')).rejects.toThrow(RecordRefused);
    // One that is not stored counts as well.
    await expect(move('t-org', 'of-the-configuration')).rejects.toThrow('would have more than 2');
    await expect(create('t-key', 't-acme')).rejects.toThrow(
      "the account 't-key' would have more than 2 accounts above it: t-key → t-acme → t-team → t-org",
    );
    await create('t-top');
    await expect(move('t-org', 't-top')).rejects.toThrow("the account 't-acme' would have more than 2");
    expect(await store.accounts.find('t-org')).toMatchObject({ parent: null });
    await move('t-team', 't-top');
    expect(await store.accounts.below(['t-org'])).toEqual([]);
    const { key } = await store.keys.create({ account: 't-acme', name: '', expires_ms: null }, alice);
    expect((await store.keys.lookUp([sha256(key)]))[0]!.stored).toMatchObject({ parent: 't-team' });
    const [entry] = await store.audit.list({ target: 't-team', limit: 1 });
    expect(JSON.parse(entry!.detail)).toEqual({ parent: 't-top', before: { parent: 't-org' } });
  });

  it('keeps the models that accounts and keys may use, those of a key through its rotation', async () => {
    const models = ['a/b', 'c/*'];
    const made = await store.accounts.create({ id: 'm-acme', plan: null, limits: {}, models }, alice);
    expect(made.models).toEqual(models);
    expect((await store.accounts.change('m-acme', { models: [] }, alice)).models).toEqual([]);
    expect((await store.accounts.find('m-acme'))!.models).toEqual([]);
    const { key, record } = await store.keys.create(
      { account: 'm-acme', name: '', expires_ms: null, models },
      alice,
    );
    const [found] = await store.keys.lookUp([sha256(key)]);
    expect(found).toMatchObject({ models, stored: { models: [] } });
    const next = await store.keys.rotate(record.id, 0, alice);
    expect(next.record.models).toEqual(models);
    expect((await store.keys.change(next.record.id, { models: null }, alice)).models).toBeNull();
    const [entry] = await store.audit.list({ target: next.record.id, limit: 1 });
    expect(JSON.parse(entry!.detail)).toEqual({ models: null, before: { models } });
  });

  it('keeps the tags of a key, through its rotation', async () => {
    const tags = { team: 'a', product: 'x y' };
    const { record } = await store.keys.create(
      { account: 'tagged', name: '', expires_ms: null, tags },
      alice,
    );
    const next = await store.keys.rotate(record.id, 0, alice);
    expect([record.tags, next.record.tags, next.old.tags]).toEqual([tags, tags, tags]);
    expect(await store.keys.named([next.record.id])).toMatchObject([{ tags }]);
    expect((await store.keys.change(next.record.id, { tags: {} }, alice)).tags).toEqual({});
    expect(await store.keys.named([next.record.id])).toMatchObject([{ tags: {} }]);
    const [entry] = await store.audit.list({ target: next.record.id, limit: 1 });
    expect(JSON.parse(entry!.detail)).toEqual({ tags: {}, before: { tags } });
    const [made] = await store.audit.list({ target: record.id, actions: ['key.create'], limit: 1 });
    expect(JSON.parse(made!.detail)).toMatchObject({ tags });
  });

  it('takes keys that were made elsewhere by their hashes, all or none, and each once', async () => {
    const first = { account: 'i-acme', name: 'ci', digest: sha256('sk-elsewhere-1'), hint: 're-1' };
    const models = ['a/*'];
    const second = {
      account: 'i-acme',
      name: '',
      digest: sha256('sk-elsewhere-2'),
      expires_ms: now_ms,
      models,
      tags: { team: 'a' },
    };
    const before = (await store.changes.since(undefined)).change;
    expect(await store.keys.import!([first, second, first], alice)).toEqual({ imported: 2, known: 1 });
    expect(await store.changes.since(before)).toMatchObject({ has_imported: true });
    const [found] = await store.keys.lookUp([first.digest]);
    expect(found).toMatchObject({ account: 'i-acme', expires_ms: null, revoked_ms: null });
    expect((await store.keys.lookUp([second.digest]))[0]).toMatchObject({ expires_ms: now_ms, models });
    const imported = await store.keys.list({ account: 'i-acme', limit: 2 });
    expect(imported.map(({ tags }) => tags)).toContainEqual({ team: 'a' });
    const [entry] = await store.audit.list({ target: found!.id, limit: 1 });
    expect(entry).toMatchObject({ action: 'key.import', actor: alice.actor });
    await store.keys.revoke(found!.id, alice);
    expect(await store.keys.import!([first], alice)).toEqual({ imported: 0, known: 1 });
    expect((await store.keys.find(found!.id))!.revoked_ms).toBe(now_ms);
    const third = { ...first, digest: sha256('sk-elsewhere-3') };
    const foreign = { ...second, account: 'i-other' };
    await expect(store.keys.import!([third, foreign], alice)).rejects.toThrow(
      "of account 'i-other' belongs to the account 'i-acme' already",
    );
    expect(await store.keys.lookUp([third.digest])).toEqual([]);
  });

  it('keeps keys of accounts that are not in the store', async () => {
    const { key } = await keyOf('of-the-config');
    expect(await store.keys.lookUp([sha256(key)])).toMatchObject([
      { account: 'of-the-config', stored: undefined },
    ]);
  });

  it('revokes a key once', async () => {
    const { key, record } = await keyOf('acme', 'lost');
    const revoked = await store.keys.revoke(record.id, { ...alice, at_ms: now_ms + 5 });
    expect(revoked).toEqual({ ...record, revoked_ms: now_ms + 5 });
    expect(await store.keys.revoke(record.id, { ...alice, at_ms: now_ms + 9 })).toEqual(revoked);
    expect(await store.keys.lookUp([sha256(key)])).toMatchObject([{ revoked_ms: now_ms + 5 }]);
    await expect(store.keys.revoke('key_none', alice)).rejects.toThrow(NotThere);
  });

  it('lists keys by last use and by name, in pages of both directions', async () => {
    const used = new Map<string, number>();
    for (const [at, name] of ['beta', 'Alpha', 'gamma', 'delta', ''].entries()) {
      const { record } = await store.keys.create(
        { account: 'sorted', name, expires_ms: null },
        { ...alice, at_ms: now_ms + at },
      );
      if (at < 3) used.set(record.id, 1000 - at);
    }
    await store.keys.used(used);
    for (const [sort, names] of [
      ['newest', ['', 'delta', 'gamma', 'Alpha', 'beta']],
      ['used', ['beta', 'Alpha', 'gamma', '', 'delta']],
      ['name', ['', 'Alpha', 'beta', 'delta', 'gamma']],
    ] as const) {
      const page = (edge: object) => store.keys.list({ account: 'sorted', sort, limit: 2, ...edge });
      const first = await page({});
      const second = await page({ after: first[1]!.id });
      const third = await page({ after: second[1]!.id });
      expect([...first, ...second, ...third].map(({ name }) => name)).toEqual(names);
      expect(await page({ before: third[0]!.id })).toEqual(second);
      expect(await page({ before: second[0]!.id })).toEqual(first);
      expect(await page({ before: first[1]!.id })).toEqual(first.slice(0, 1));
    }
  });

  it('revokes several keys with an audit entry for each, all or none', async () => {
    const ids: string[] = [];
    for (const name of ['one', 'two', 'three']) ids.push((await keyOf('bulk', name)).record.id);
    await expect(store.keys.revokeAll([...ids, 'key_none'], alice)).rejects.toThrow(NotThere);
    expect(await store.keys.count({ account: 'bulk', usable_at_ms: now_ms })).toBe(3);
    await store.keys.revoke(ids[0]!, alice);
    const audited = await store.audit.count();
    expect(await store.keys.revokeAll(ids, alice)).toMatchObject(ids.map(id => ({ id, revoked_ms: now_ms })));
    expect(await store.audit.count()).toBe(audited + 2);
  });

  it('rotates a key: a new one of the same account, name, limits and lifetime, and an end of the old one', async () => {
    const detail = { account: 'rotated', name: 'service', expires_ms: now_ms + 30 * day_ms };
    const limits = { usd_per_month: '0.50' };
    const { key: oldKey, record: old } = await store.keys.create({ ...detail, limits }, alice);
    const { change } = await store.changes.since(undefined);
    const later = { actor: 'cli:bob', at_ms: now_ms + 20_000 };
    const made = await store.keys.rotate(old.id, 7 * day_ms, later);
    expect(made.old).toEqual({ ...old, expires_ms: later.at_ms + 7 * day_ms });
    expect(made.record).toMatchObject({
      ...detail,
      limits,
      created_ms: later.at_ms,
      expires_ms: later.at_ms + 30 * day_ms,
    });
    expect(made.record.id).not.toBe(old.id);
    const found = await store.keys.lookUp([sha256(oldKey), sha256(made.key)]);
    expect(found.map(({ id }) => id).sort()).toEqual([old.id, made.record.id].sort());
    expect((await store.changes.since(change)).of).toEqual({
      digests: expect.arrayContaining([sha256(oldKey), sha256(made.key)]),
      accounts: [],
    });
    const entries = await store.audit.list({ limit: 999 });
    const [entry] = entries.filter(({ action }) => action === 'key.rotate');
    expect(entry).toMatchObject({ ...later, target: old.id });
    expect(JSON.parse(entry!.detail)).toEqual({
      account: 'rotated',
      name: 'service',
      expires_ms: later.at_ms + 30 * day_ms,
      new_id: made.record.id,
      old_expires_ms: later.at_ms + 7 * day_ms,
    });
    // An overlap never gives the old one more time than it had.
    const again = await store.keys.rotate(old.id, 99 * day_ms, { ...later, at_ms: later.at_ms + 1 });
    const [newest] = await store.audit.list({ target: old.id, limit: 1 });
    expect([again.old.expires_ms, JSON.parse(newest!.detail).old_expires_ms]).toEqual(
      Array(2).fill(later.at_ms + 7 * day_ms),
    );
  });

  it('changes name, expiry and limits of a key, with what was there before, and finds it by them', async () => {
    const named = { account: 'changing', name: 'old name', expires_ms: null };
    const { key, record } = await store.keys.create({ ...named, limits: { requests_per_minute: 3 } }, alice);
    const { change } = await store.changes.since(undefined);
    const later = { ...alice, at_ms: now_ms + 1000 };
    const set = { name: 'new name', expires_ms: now_ms + day_ms, limits: { tokens_per_day: 9 } };
    expect(await store.keys.change(record.id, set, later)).toEqual({ ...record, ...set });
    expect(await store.keys.change(record.id, set, later)).toEqual({ ...record, ...set });
    expect(await store.keys.find(record.id)).toEqual({ ...record, ...set });
    expect(await store.keys.count({ search: 'old name' })).toBe(0);
    expect(await store.keys.lookUp([sha256(key)])).toMatchObject([{ id: record.id, limits: set.limits }]);
    expect((await store.changes.since(change)).of).toEqual({ digests: [sha256(key)], accounts: [] });
    const entries = await store.audit.list({ target: record.id, limit: 9 });
    expect(entries.map(({ action, detail }) => [action, JSON.parse(detail)])).toEqual([
      [
        'key.change',
        { ...set, before: { name: 'old name', expires_ms: null, limits: { requests_per_minute: 3 } } },
      ],
      ['key.create', { ...named, limits: { requests_per_minute: 3 } }],
    ]);
  });

  it('changes an account and a key by what they are in the transaction, so that no change is lost', async () => {
    await store.accounts.create({ id: 'edited', plan: null, limits: {} }, alice);
    const { record } = await keyOf('edited');
    const edits = Array.from({ length: 8 }, (_, at) => ({ [`limit_${at}`]: at }));
    const all = Object.assign({}, ...edits) as object;
    await Promise.all(
      edits.flatMap(edit => [
        store.accounts.change('edited', ({ limits }) => ({ limits: { ...limits, ...edit } }), alice),
        store.keys.change(record.id, ({ limits }) => ({ limits: { ...limits, ...edit } }), alice),
      ]),
    );
    expect((await store.accounts.find('edited'))!.limits).toEqual(all);
    expect((await store.keys.find(record.id))!.limits).toEqual(all);
    const refuse = () => {
      throw new Error('not as it was');
    };
    await expect(store.accounts.change('edited', refuse, alice)).rejects.toThrow('not as it was');
  });

  it('changes no key that has ended', async () => {
    const { record } = await store.keys.create(
      { account: 'over', name: '', expires_ms: now_ms + 1000 },
      alice,
    );
    const late = { ...alice, at_ms: now_ms + 1000 };
    await expect(store.keys.change(record.id, { expires_ms: null }, late)).rejects.toThrow(KeyEnded);
    await store.keys.revoke(record.id, alice);
    await expect(store.keys.change(record.id, { name: 'x' }, alice)).rejects.toThrow(KeyEnded);
    await expect(store.keys.change('key_none', { name: 'x' }, alice)).rejects.toThrow(NotThere);
  });

  it('makes one key for a nonce, however often and wherever it is asked', async () => {
    const detail = { account: 'once', name: '', expires_ms: null };
    const asked = await Promise.allSettled(
      Array.from({ length: 4 }, () => store.keys.create({ ...detail, nonce: 'form-1' }, alice)),
    );
    const made = asked.flatMap(each => (each.status === 'fulfilled' ? [each.value.record.id] : []));
    const refused = asked.flatMap(each => (each.status === 'rejected' ? [each.reason] : []));
    expect([made.length, refused.length]).toEqual([1, 3]);
    for (const fault of refused) expect([fault instanceof KeyExists, fault.id]).toEqual([true, made[0]]);
    const rotated = await store.keys.rotate(made[0]!, day_ms, alice, { nonce: 'form-2' });
    await expect(store.keys.rotate(made[0]!, 0, alice, { nonce: 'form-2' })).rejects.toMatchObject({
      id: rotated.record.id,
    });
    expect(await store.keys.find(made[0]!)).toMatchObject({ expires_ms: now_ms + day_ms });
    expect(await store.keys.count({ account: 'once' })).toBe(2);
  });

  it('rotates no key that has ended, and writes nothing of it', async () => {
    const { record } = await keyOf('ended');
    await store.keys.rotate(record.id, 0, alice);
    const audited = await store.audit.count();
    await expect(store.keys.rotate(record.id, day_ms, alice)).rejects.toThrow(KeyEnded);
    await expect(store.keys.rotate('key_none', day_ms, alice)).rejects.toThrow(NotThere);
    expect([await store.keys.count({ account: 'ended' }), await store.audit.count()]).toEqual([2, audited]);
  });

  it('counts keys of an account, those of a search, and those that are usable at a time', async () => {
    for (const at of [3, 4]) await keyOf('pages', `name-${at}`);
    expect(await store.keys.list({ search: 'NAME-3', limit: 9 })).toMatchObject([{ name: 'name-3' }]);
    const usable = [undefined, now_ms, now_ms + day_ms].map(usable_at_ms =>
      store.keys.count({ account: 'acme', usable_at_ms }),
    );
    expect(await Promise.all(usable)).toEqual([2, 1, 0]);
    expect(await store.keys.count({ account: 'pages' })).toBe(2);
  });

  it('tells the usable keys and the last request of accounts, wherever they are kept', async () => {
    await store.ledger.insert([1, 3, 2].map(at => row({ account: 'lively', started_ms: now_ms + at })));
    const [one] = [await keyOf('lively'), await keyOf('lively')];
    await store.keys.revoke(one!.record.id, alice);
    const found = await store.accounts.activity!(['nobody', 'lively'], now_ms);
    expect(found.toSorted((a, b) => a.active_keys - b.active_keys)).toEqual([
      { id: 'nobody', active_keys: 0, last_used_ms: null },
      { id: 'lively', active_keys: 1, last_used_ms: now_ms + 3 },
    ]);
  });

  it('records when keys were last used and never moves that time back', async () => {
    const [a, b] = await store.keys.list({ account: 'pages', limit: 2 });
    const used = (times: Record<string, number>) => store.keys.used(new Map(Object.entries(times)));
    await used({ [a!.id]: 100, [b!.id]: 200 });
    await used({ [a!.id]: 50, [b!.id]: 300, key_none: 1 });
    const found = await Promise.all([a, b].map(key => store.keys.find(key!.id)));
    expect(found.map(key => key!.last_used_ms)).toEqual([100, 300]);
  });

  it('returns what has changed since a given point', async () => {
    const { change } = await store.changes.since(undefined);
    expect(await store.changes.since(change)).toEqual({ change, of: { digests: [], accounts: [] } });
    const { key, record } = await keyOf('acme');
    await store.keys.revoke(record.id, alice);
    await store.accounts.change('acme', { plan: 'free' }, alice);
    expect(await store.changes.since(change)).toEqual({
      change: change + 3,
      of: { digests: [sha256(key)], accounts: ['acme'] },
      has_imported: true,
      disabled: [],
      controls: [],
    });
    await store.accounts.disable('acme', alice);
    expect(await store.changes.since(change + 3)).toMatchObject({ disabled: ['acme'] });
    expect(await store.changes.since(undefined)).toMatchObject({ disabled: ['acme'] });
    expect(await store.changes.since(change + 99)).toMatchObject({ of: 'all', disabled: ['acme'] });
    await store.accounts.enable('acme', alice);
  });

  it('audits who changed what, without storing any key', async () => {
    const { key, record } = await store.keys.create(
      { account: 'acme', name: 'audited', expires_ms: null },
      { ...alice, at_ms: now_ms + 50_000 },
    );
    await store.keys.revoke(record.id, { actor: 'cli:bob', at_ms: now_ms + 60_000 });
    const [revoked] = await store.audit.list({ limit: 1 });
    const [created] = await store.audit.list({ limit: 1, after: revoked!.id });
    expect(revoked).toMatchObject({
      actor: 'cli:bob',
      action: 'key.revoke',
      target: record.id,
      at_ms: now_ms + 60_000,
    });
    expect(created).toMatchObject({ actor: 'cli:alice', action: 'key.create', target: record.id });
    expect(JSON.parse(created!.detail)).toEqual({ account: 'acme', name: 'audited', expires_ms: null });
    expect(JSON.stringify(await store.audit.list({ limit: 999 }))).not.toContain(key.slice(10, 40));
  });

  it('finds entries of the audit log by person, action and time', async () => {
    const at = (at_ms: number) => ({ actor: 'filters', at_ms: now_ms + at_ms });
    await store.accounts.create({ id: 'filtered', plan: null, limits: {} }, at(70_000));
    await store.accounts.disable('filtered', at(70_001));
    await store.audit.record(at(70_002), 'sign-in.accept', 'dashboard');
    const actionsOf = async (query: object) =>
      (await store.audit.list({ limit: 9, actor: 'filters', ...query })).map(({ action }) => action);
    expect(await actionsOf({})).toEqual(['sign-in.accept', 'account.disable', 'account.create']);
    expect(await actionsOf({ actions: ['account.create', 'account.change'] })).toEqual(['account.create']);
    expect(await actionsOf({ from_ms: now_ms + 70_001 })).toEqual(['sign-in.accept', 'account.disable']);
    expect(await actionsOf({ until_ms: now_ms + 70_001 })).toEqual(['account.create']);
    expect(await actionsOf({ target: 'dashboard', until_ms: now_ms + 70_002 })).toEqual([]);
    expect(await store.audit.count({ actor: 'nobody' })).toBe(0);
  });

  it('leaves no trace of a change that failed', async () => {
    const before = await store.audit.list({ limit: 999 });
    const { change } = await store.changes.since(undefined);
    await expect(store.accounts.create({ id: 'acme', plan: null, limits: {} }, alice)).rejects.toThrow(
      AlreadyThere,
    );
    expect(await store.audit.list({ limit: 999 })).toHaveLength(before.length);
    expect((await store.changes.since(undefined)).change).toBe(change);
  });

  it('writes every exchange once, however often it is sent', async () => {
    const first = row({ account: 'once' });
    const second = row({
      account: 'once',
      model: null,
      provider: null,
      status: 400,
      error_type: 'invalid_request_error',
      first_token_ms: null,
      cost_usd: '12345.000000000001',
      paid_usd: '0',
    });
    expect(await store.ledger.insert([first])).toBe(1);
    expect(await store.ledger.insert([first, second, second])).toBe(1);
    expect(await store.ledger.insert([first, second])).toBe(0);
    expect(await store.ledger.insert([])).toBe(0);
    const rows = await store.ledger.list({ account: 'once', limit: 9 });
    expect(rows).toHaveLength(2);
    const listed = [first, second].map(({ attempts_made: _, stages: __, ...row }) => row);
    expect(rows).toEqual(expect.arrayContaining(listed));
    expect(await store.usage.sum({ account: 'once', by: [] })).toEqual([
      {
        requests: 2,
        failed_requests: 1,
        estimated_requests: 0,
        prompt_tokens: 20,
        completion_tokens: 10,
        cached_tokens: 4,
        reasoning_tokens: 2,
        ...noErrors,
        client_error: 1,
        cost_usd: '12345.000000000002',
        paid_requests: 1,
        paid_usd: '0',
        margin_usd: '12345.000000000001',
      },
    ]);
  });

  it('writes a batch of exchanges with many attempts each, more than one statement takes', async () => {
    const [attempt] = row().attempts_made;
    const attempts_made = Array.from({ length: 15 }, () => attempt!);
    const failing = (at: number) => row({ request_id: `outage-${at}`, attempts: 15, attempts_made });
    const batch = Array.from({ length: 500 }, (_, at) => failing(at));
    expect(await store.ledger.insert(batch)).toBe(500);
    expect((await store.ledger.find('outage-499'))[0]?.attempts_made).toHaveLength(15);
    expect(await store.ledger.insert(batch.slice(-1))).toBe(0);
  });

  it('finds an exchange and its attempts by the request id', async () => {
    const answered = row().attempts_made[0]!;
    const failed = { ...answered, status: 503, outcome: 'failed' as const, kind: 'status', wait_ms: 40 };
    const asked = { account: 'found', request_id: 'req_found', trace_id: 'a'.repeat(32), stream: null };
    const older = row({ ...asked, started_ms: now_ms - day_ms, attempts_made: [], code: 'rate_limited' });
    const newer = row({ ...asked, attempts: 2, attempts_made: [failed, answered] });
    await store.ledger.insert([older, newer, row({ account: 'found', request_id: 'req_other' })]);
    await store.ledger.insert([older, newer]);
    expect(await store.ledger.find('req_found')).toEqual([newer, older]);
    expect(await store.ledger.find("req_found' OR 1=1")).toEqual([]);
  });

  it('keeps samples of refusals as rows once, and adds only the counts to the sums', async () => {
    const unused = { prompt_tokens: 0, completion_tokens: 0, cost_usd: '0', attempts: 0, attempts_made: [] };
    const refused = { ...throttled, account: 'sampled' };
    const sample = () =>
      row({ ...refused, ...unused, code: 'rate_limited', refused_by: 'requests_per_minute' });
    const count = { ...refused, key_id: null, model: 'v/one', started_ms: now_ms, requests: 40 };
    const batch = { id: timeOrderedUuid(now_ms), refusals: [count], samples: [sample(), sample()] };
    expect(await store.ledger.insert([batch, batch])).toBe(0);
    expect(await store.ledger.insert([{ ...batch, samples: [sample()] }])).toBe(0);
    const listed = await store.ledger.list({ account: 'sampled', end_reason: 'refused', limit: 9 });
    expect(listed.map(({ id }) => id).toSorted()).toEqual(batch.samples.map(({ id }) => id).toSorted());
    expect(listed[0]).toMatchObject({ code: 'rate_limited', refused_by: 'requests_per_minute' });
    expect(await store.usage.sum({ account: 'sampled', by: [] })).toMatchObject([
      { requests: 40, failed_requests: 40, prompt_tokens: 0, cost_usd: '0' },
    ]);
    expect(await store.usage.budgets(['sampled'], [Date.parse('2026-11-20')])).toMatchObject([
      { requests: 0, tokens: 0 },
      { requests: 0, tokens: 0 },
    ]);
  });

  it('counts refusals once, however often they are sent, apart from the ledger rows', async () => {
    const refused = {
      ...throttled,
      ...{ account: 'throttled', key_id: null, model: 'v/one', started_ms: now_ms },
    };
    const batch = (...requests: readonly number[]) => ({
      id: timeOrderedUuid(now_ms),
      refusals: requests.map(each => ({ ...refused, requests: each })),
    });
    const [first, second] = [batch(2800, 7), batch(3)];
    expect(await store.ledger.insert([first, row({ account: 'throttled' }), first])).toBe(1);
    expect(await store.ledger.insert([second, first])).toBe(0);
    await Promise.all([store.ledger.insert([second]), store.ledger.insert([second])]);
    const { started_ms: _, ...told } = { ...refused, key_id: '', day: '2026-11-20', requests: 2810 };
    const query = { account: 'throttled', limit: 9 };
    expect(await store.usage.refusals(query)).toEqual([told]);
    expect(await store.usage.refusals({ ...query, to_day: '2026-11-19' })).toEqual([]);
    expect(await store.ledger.list(query)).toHaveLength(1);
    for (const by of [[], ['day'], ['account', 'model'], ['month']] as const)
      expect(await store.usage.sum({ account: 'throttled', by })).toMatchObject([
        { requests: 2811, failed_requests: 2810, prompt_tokens: 10 },
      ]);
  });

  it('adds up the use of each key from a day on, with what was refused', async () => {
    const of = (key_id: string | null, ago: number, cost_usd: string) =>
      row({ account: 'keyed', key_id, cost_usd, started_ms: now_ms - ago * day_ms });
    const rows = [
      of('key_a', 0, '0.000000000001'),
      of('key_a', 29, '2'),
      of('key_a', 30, '4'),
      of('key_b', 1, '1'),
      of(null, 0, '8'),
    ];
    expect(await store.ledger.insert(rows)).toBe(5);
    expect(await store.ledger.insert(rows)).toBe(0);
    const refused = { ...throttled, account: 'keyed', model: null };
    const batch = {
      id: timeOrderedUuid(now_ms),
      refusals: ['key_a', null].map(key_id => ({ ...refused, key_id, started_ms: now_ms, requests: 40 })),
    };
    await store.ledger.insert([batch]);
    await store.ledger.insert([batch]);
    expect(await store.usage.ofKeys(['key_a', 'key_b', 'key_none'], '2026-10-22')).toEqual(
      new Map([
        [
          'key_a',
          {
            requests: 42,
            failed_requests: 40,
            ...noErrors,
            refusal: 40,
            tokens: 30,
            cost_usd: '2.000000000001',
          },
        ],
        ['key_b', { requests: 1, failed_requests: 0, ...noErrors, tokens: 15, cost_usd: '1' }],
      ]),
    );
    expect([...(await store.usage.ofKeyByDay('key_a', '2026-10-22'))]).toEqual([
      ['2026-10-22', { requests: 1, failed_requests: 0, ...noErrors, tokens: 15, cost_usd: '2' }],
      [
        '2026-11-20',
        {
          requests: 41,
          failed_requests: 40,
          ...noErrors,
          refusal: 40,
          tokens: 15,
          cost_usd: '0.000000000001',
        },
      ],
    ]);
    expect(await store.usage.ofKeys(['key_b'], '2026-11-20')).toEqual(new Map());
    expect(await store.usage.ofKeys([], '2026-11-20')).toEqual(new Map());
  });

  it('adds credit to an account, exactly and once each, from its plan or from what it has used', async () => {
    const operator = { actor: 'anna', at_ms: now_ms };
    for (const [id, limits] of Object.entries({
      own: { usd_total: '0.1' },
      planned: {},
      used: { usd_total: null },
    }))
      await store.accounts.create(
        { id: `credit-${id}`, plan: id === 'planned' ? 'trial' : null, limits },
        operator,
      );
    await store.accounts.create(
      { id: 'credit-below', plan: null, limits: {}, parent: 'credit-used' },
      operator,
    );
    for (const account of ['credit-used', 'credit-below'])
      await store.ledger.insert([row({ account, cost_usd: '1.0000000001' })]);
    const topUp = async (id: string, amount_usd: string) => {
      const ofPlan = (plan: string | null) => (plan === 'trial' ? { limit: 5, hard: false } : undefined);
      const credit = { amount_usd, ofPlan, reason: amount_usd === '0.2' ? 'invoice 7' : undefined };
      return (await store.accounts.topUp(`credit-${id}`, credit, operator)).limits.usd_total;
    };
    const sums = await Promise.all([topUp('own', '0.2'), topUp('own', '0.2')]);
    expect(sums.sort()).toEqual(['0.3', '0.5']);
    expect(await topUp('planned', '25.00')).toEqual({ limit: '30', hard: false });
    expect(await topUp('used', '10')).toBe('12.000000002');
    for (const amount of ['0', '-1', '0.0000000001', 'ten', '9999999999'])
      await expect(topUp('own', amount)).rejects.toThrow('a credit is an amount of dollars above 0');
    await expect(topUp('nobody', '1')).rejects.toThrow("there is no account 'credit-nobody'");
    const audited = await store.audit.list({ target: 'credit-own', actions: ['account.credit'], limit: 9 });
    const added = { amount_usd: '0.2', reason: 'invoice 7' };
    expect(audited.map(({ detail }) => JSON.parse(detail))).toEqual([
      { limits: { usd_total: '0.5' }, before: { limits: { usd_total: '0.3' } }, ...added },
      { limits: { usd_total: '0.3' }, before: { limits: { usd_total: '0.1' } }, ...added },
    ]);
  });

  it('returns what accounts have used since some times', async () => {
    const of = (account: string, more: Partial<LedgerRow>) => row({ account, cost_usd: '0.000001', ...more });
    await store.ledger.insert([
      of('budget', {}),
      of('budget', { model: 'v/two', cost_usd: '0.0000000011' }),
      of('budget', { model: null, started_ms: Date.parse('2026-11-01T00:00:00Z') }),
      of('budget', { started_ms: Date.parse('2026-10-31T23:59:59.999Z') }),
      of('budget-2', { started_ms: now_ms - day_ms }),
      of('budget-3', {}),
    ]);
    const told = await store.usage.budgets(
      ['budget', 'budget-2', 'nobody'],
      [Date.parse('2026-11-01'), Date.parse('2026-11-20')],
    );
    const byModel = Map.groupBy(told, ({ owner, model }) => `${owner} ${model}`);
    const total = (sums: typeof told, unit: 'tokens' | 'nano_usd') =>
      sums.reduce((sum, { [unit]: used }) => sum + used, 0);
    const tokensOfDay = (sums: typeof told) =>
      total(
        sums.filter(({ since }) => since === 1),
        'tokens',
      );
    const lines = [...byModel].map(
      ([name, sums]) => `${name} ${tokensOfDay(sums)} ${total(sums, 'nano_usd')}`,
    );
    expect(lines.sort()).toEqual(
      [
        'budget * 30 2002',
        'budget v/one 15 1000',
        'budget v/two 15 2',
        'budget  0 1000',
        'budget-2 * 0 1000',
        'budget-2 v/one 0 1000',
      ].sort(),
    );
  });

  it('returns what accounts and keys have used since times within days, with the whole hour', async () => {
    const at = (time: string, model = 'v/one') =>
      row({ account: 'zoned', key_id: 'key_zoned', model, started_ms: Date.parse(time) });
    const times = ['2026-10-31T17:59Z', '2026-10-31T18:01Z', '2026-11-03T12:00Z', '2026-11-19T17:30Z'];
    await store.ledger.insert([...times, '2026-11-19T18:59Z', '2026-11-20T10:00Z'].map(time => at(time)));
    await store.ledger.insert([at('2026-11-19T18:40Z', 'v/two')]);
    const since = ['2026-10-31T18:30Z', '2026-11-19T18:30Z', '2026-11-20T00:00Z'].map(text =>
      Date.parse(text),
    );
    const requestsOf = (sums: readonly BudgetSum[], of: string) =>
      since.map((_, from) =>
        sums
          .filter(({ model, since }) => model === of && since >= from)
          .reduce((sum, { requests }) => sum + requests, 0),
      );
    const told = await store.usage.budgets(['zoned', 'nobody'], [0, ...since]);
    const later = told.filter(({ since }) => since > 0).map(sum => ({ ...sum, since: sum.since - 1 }));
    expect(requestsOf(later, '*')).toEqual([6, 3, 1]);
    expect(requestsOf(later, 'v/one')).toEqual([5, 2, 1]);
    expect(told.filter(({ since, model }) => since === 0 && model === '*')).toMatchObject([{ requests: 7 }]);
    expect(requestsOf(await store.usage.budgetsOfKeys(['key_zoned'], since), '*')).toEqual([6, 3, 1]);
  });

  it('returns what keys have used since some times', async () => {
    const of = (key_id: string, more: Partial<LedgerRow> = {}) =>
      row({ account: 'keyed', key_id, cost_usd: '0.0000000011', ...more });
    await store.ledger.insert([
      of('key_budget'),
      of('key_budget', { model: 'v/two', status: 500 }),
      of('key_budget', { started_ms: Date.parse('2026-11-01T00:00:00Z') }),
      of('key_budget', { started_ms: Date.parse('2026-10-31T23:59:59.999Z') }),
      of('key_other'),
    ]);
    const told = await store.usage.budgetsOfKeys(
      ['key_budget', 'key_none'],
      [0, Date.parse('2026-11-01'), Date.parse('2026-11-20')],
    );
    const owner = 'key_budget';
    expect(told.toSorted((one, other) => other.since - one.since)).toEqual([
      { owner, model: '*', since: 2, requests: 1, tokens: 30, nano_usd: 3 },
      { owner, model: '*', since: 1, requests: 1, tokens: 15, nano_usd: 2 },
      { owner, model: '*', since: 0, requests: 3, tokens: 60, nano_usd: 5 },
    ]);
  });

  it('lists the ledger in pages, newest first', async () => {
    await store.ledger.insert(
      [1, 2, 3].map(at => row({ account: 'listed', started_ms: now_ms + at, request_id: `r${at}` })),
    );
    const [newest, next] = await store.ledger.list({ account: 'listed', limit: 2 });
    const [oldest] = await store.ledger.list({ account: 'listed', limit: 2, after: next! });
    expect(await store.ledger.list({ account: 'listed', limit: 2, before: oldest! })).toEqual([newest, next]);
    expect(await store.ledger.list({ account: 'listed', limit: 1, before: oldest! })).toEqual([next]);
    expect([newest, next, oldest].map(each => each!.request_id)).toEqual(['r3', 'r2', 'r1']);
    const between = { account: 'listed', from_ms: now_ms + 2, until_ms: now_ms + 3, limit: 9 };
    expect(await store.ledger.list(between)).toMatchObject([{ request_id: 'r2' }]);
  });

  it('lists the requests that took longest or cost most among the newest, and those with a part of an id', async () => {
    const [duration_ms, cost] = [
      [40, 10, 30, 20],
      ['9', '1', '2', '3'],
    ];
    await store.ledger.insert(
      duration_ms.map((took_ms, at) =>
        row({
          account: 'largest',
          started_ms: now_ms + at,
          request_id: `Trace_${at}!`,
          duration_ms: took_ms,
          cost_usd: cost[at]!,
        }),
      ),
    );
    const found = async (by: 'duration_ms' | 'cost_usd', among: number) =>
      (await store.ledger.largest!(by, { account: 'largest', limit: 2 }, among)).map(
        ({ request_id }) => request_id,
      );
    expect(await found('duration_ms', 4)).toEqual(['Trace_0!', 'Trace_2!']);
    expect(await found('duration_ms', 3)).toEqual(['Trace_2!', 'Trace_3!']);
    expect(await found('cost_usd', 3)).toEqual(['Trace_3!', 'Trace_2!']);
    const having = async (request_part: string) =>
      (await store.ledger.list({ account: 'largest', request_part, limit: 9 })).length;
    expect(await Promise.all(['trace_', 'E_2!', 'trace%', 'TraceX'].map(having))).toEqual([4, 1, 0, 0]);
  });

  it('lists requests by their error, by what they lack, and by a provider of which an attempt failed', async () => {
    const attempt = (provider: string, outcome: 'completed' | 'failed') => ({
      ...row().attempts_made[0]!,
      provider,
      outcome,
    });
    const made = (request_id: string, at_ms: number, more: Partial<LedgerRow>) =>
      row({
        account: 'why',
        request_id,
        started_ms: now_ms + at_ms,
        id: timeOrderedUuid(now_ms + at_ms),
        ...more,
      });
    const covered = {
      attempts_made: [attempt('odd', 'failed'), attempt('odd', 'failed'), attempt('local', 'completed')],
    };
    await store.ledger.insert([
      made('covered', 1, covered),
      made('lost', 2, {
        provider: 'odd',
        error_type: 'provider_error',
        code: 'upstream_timeout',
        attempts_made: [attempt('odd', 'failed')],
      }),
      made('own', 3, { provider: null, model: null, status: 503, attempts_made: [] }),
      made('covered-again', 4, covered),
      made('well', 5, {}),
    ]);
    const ids = async (query: object) =>
      (await store.ledger.list({ account: 'why', limit: 9, ...query })).map(({ request_id }) => request_id);
    expect(await ids({ error_type: 'provider_error' })).toEqual(['lost']);
    expect(await ids({ error_type: '503' })).toEqual(['own']);
    expect(await ids({ code: 'upstream_timeout' })).toEqual(['lost']);
    expect(await ids({ provider: null })).toEqual(['own']);
    expect(await ids({ model: null })).toEqual(['own']);
    // Each once, however often it was tried there.
    expect(await ids({ failed_at: 'odd' })).toEqual(['covered-again', 'lost', 'covered']);
    expect(await ids({ failed_at: 'odd', provider: 'local' })).toEqual(['covered-again', 'covered']);
    expect(await ids({ failed_at: 'odd', from_ms: now_ms + 2, until_ms: now_ms + 4 })).toEqual(['lost']);
    const [first, second] = await store.ledger.list({ failed_at: 'odd', account: 'why', limit: 2 });
    expect(await ids({ failed_at: 'odd', after: second! })).toEqual(['covered']);
    expect(await ids({ failed_at: 'odd', before: second! })).toEqual([first!.request_id]);
  });

  it('lists errors by the class in which they are counted', async () => {
    const errors = [...Object.keys(classOfType), 'of_a_plugin', null];
    const rows = [...endReasons, 'of_another_version'].flatMap(end_reason =>
      errors.flatMap(error_type =>
        [200, 400, 403, 503].map(status =>
          row({ account: 'classes', end_reason, error_type, status, attempts_made: [] }),
        ),
      ),
    );
    await store.ledger.insert(rows);
    for (const name of errorClasses) {
      const listed = await store.ledger.list({ account: 'classes', error_classes: [name], limit: 1000 });
      const meant = rows.filter(
        ({ end_reason, error_type, status }) =>
          endClassOf(end_reason, errorNameOf(error_type, status)) === name,
      );
      expect(meant.length).toBeGreaterThan(10);
      expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(meant.map(({ id }) => id)));
    }
  });

  it('rejects rows that it can never hold and writes nothing of their batch', async () => {
    const good = row({ account: 'refused' });
    const bad = row({ account: 'refused', cost_usd: '99999999999' });
    await expect(store.ledger.insert([good, bad])).rejects.toThrow(RecordRefused);
    expect(await store.ledger.list({ account: 'refused', limit: 1 })).toEqual([]);
    expect(await store.ledger.insert([good])).toBe(1);
  });

  it('accepts concurrent writes', async () => {
    const sent = Array.from({ length: 40 }, () => row({ account: 'busy' }));
    // Each row is sent twice, in overlapping batches, as after a restart.
    const batches = Array.from({ length: 8 }, (_, at) => sent.slice(at * 4, at * 4 + 12));
    const counts = await Promise.all([...batches, sent].map(batch => store.ledger.insert(batch)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(40);
    expect(await store.usage.sum({ account: 'busy', by: [] })).toMatchObject([
      { requests: 40, prompt_tokens: 400 },
    ]);
  });

  it('keeps its records when it is opened again, except in memory', async () => {
    if (target.kind === 'memory') {
      await store.ledger.insert(Array.from({ length: 300 }, () => row({ account: 'many' })));
      await store.ledger.insert(Array.from({ length: 300 }, () => row({ account: 'many' })));
      await store.ledger.insert(Array.from({ length: 500 }, () => row({ account: 'many' })));
      expect(await store.ledger.list({ limit: 2000 })).toHaveLength(1000);
      expect(await store.usage.sum({ account: 'many', by: [] })).toMatchObject([{ requests: 1100 }]);
      return;
    }
    const again = await openRecords(target);
    await again.migrate(now_ms);
    expect(await again.keys.count()).toBe(await store.keys.count());
    expect((await again.usage.sum({ by: [] }))[0]).toEqual((await store.usage.sum({ by: [] }))[0]);
    await again.close();
  });

  it(`can be closed twice and then rejects calls (${kind})`, async () => {
    const fresh = await openRecords(await newTarget());
    await fresh.migrate(now_ms);
    expect(await fresh.keys.count()).toEqual(expect.anything());
    await fresh.close();
    await fresh.close();
    await expect(fresh.keys.count()).rejects.toThrow();
  });
});
