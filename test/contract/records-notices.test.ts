import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { timeOrderedUuid } from '../../src/common/ids.ts';
import type { NewNotice, NoticeRecords } from '../../src/records/notice-records.ts';
import type { RecordsStore } from '../../src/records/records-store.ts';
import { usageNotice } from '../../src/records/usage-notice.ts';
import { openRecords, type RecordsTarget } from '../support/open-records.ts';
import { recordsTargets } from '../support/records-targets.ts';

const now_ms = Date.parse('2026-11-20T12:00:00Z');
const targets = recordsTargets();

const kinds: readonly [string, () => Promise<RecordsTarget>][] = [
  ['SQLite', async () => ({ kind: 'sqlite', path: targets.newFile() })],
  ['Postgres', async () => ({ kind: 'postgres', url: await targets.newDatabase() })],
];

describe.each(kinds)('the outbox of notices in %s', (_, newTarget) => {
  const stores: RecordsStore[] = [];
  let notices: NoticeRecords;
  let other: NoticeRecords;
  let made = 0;

  beforeAll(async () => {
    const target = await newTarget();
    for (let at = 0; at < 2; at++) stores.push(await openRecords(target));
    await stores[0]!.migrate(now_ms);
    [notices, other] = stores.map(store => store.notices!) as [NoticeRecords, NoticeRecords];
  });
  afterAll(() => Promise.all(stores.map(store => store.close())));

  const notice = (more: Partial<NewNotice> = {}): NewNotice => ({
    id: timeOrderedUuid(now_ms),
    key: `key ${++made}`,
    subject: 'account:acme',
    type: 'test',
    data: { account: 'acme', used_percent: 80, title: 'ümläut "{{x}}"' },
    created_ms: now_ms,
    ...more,
  });
  /** One that is on its way to these receivers. */
  async function routed(receivers: readonly string[], more: Partial<NewNotice> = {}): Promise<NewNotice> {
    const added = notice(more);
    await notices.add(added);
    await notices.route(added.id, receivers, now_ms);
    return added;
  }
  const deliveriesOf = async ({ id }: NewNotice) => (await notices.find(id))!.deliveries;

  it('keeps one notice of each key, whichever instances add it at the same time', async () => {
    const same = Array.from({ length: 6 }, () => notice({ key: 'the same' }));
    const added = await Promise.all(same.map((one, at) => (at % 2 ? notices : other).add(one)));
    expect(added.filter(Boolean)).toHaveLength(1);
    const [found] = (await notices.unrouted(10)).filter(({ key }) => key === 'the same');
    expect(found).toEqual(same[added.indexOf(true)]);
    await notices.route(found!.id, [], now_ms);
    expect(await notices.unrouted(10)).toEqual([]);
  });

  it('records who has one sent about an account, once as well', async () => {
    const state = { name: 'tokens_per_day', max: 1000, used: 900, remaining: 100, resets_at: null } as const;
    const operator = { actor: 'olga', at_ms: now_ms };
    const adds = [1, 2].map(() => notices.add(usageNotice('told', state, now_ms), operator));
    expect((await Promise.all(adds)).sort()).toEqual([false, true]);
    const later = usageNotice('told', state, now_ms + 3_600_000);
    expect(await notices.add(later)).toBe(true);
    const { audit } = stores[0]!;
    const entries = await audit.list({ target: 'told', limit: 5 });
    expect(entries).toMatchObject([{ action: 'account.notify', actor: 'olga' }]);
    for (const { id } of await notices.list({ subject: 'account:told', limit: 5 }))
      await notices.route(id, [], now_ms);
  });

  it('decides the receivers of a notice once, and remembers those that have it already', async () => {
    const added = notice();
    await notices.add(added);
    await Promise.all([
      notices.route(added.id, ['webhook:a', 'webhook:a', 'mail:b@c.de'], now_ms, ['mail:b@c.de']),
      other.route(added.id, ['webhook:a', 'mail:b@c.de'], now_ms, ['mail:b@c.de']),
    ]);
    const rest = { fault: '', attempts: 1 };
    expect(await deliveriesOf(added)).toEqual([
      { ...rest, target: 'mail:b@c.de', state: 'sent', due_ms: null, ended_ms: now_ms },
      { ...rest, target: 'webhook:a', state: 'waiting', attempts: 0, due_ms: now_ms, ended_ms: null },
    ]);
    await notices.claim(now_ms, now_ms + 1e9, 10);
  });

  it('gives a delivery to one instance, and after a claim that was never settled to the next one', async () => {
    const added = await routed(['webhook:a', 'webhook:b']);
    const lease_ms = 1000;
    const claims = await Promise.all(
      [notices, other, notices, other].map(one => one.claim(now_ms, now_ms + lease_ms, 10)),
    );
    const { deliveries: _, ...whole } = (await notices.find(added.id))!;
    expect(claims.flat().toSorted((a, b) => (a.target < b.target ? -1 : 1))).toEqual([
      { target: 'webhook:a', attempts: 1, notice: whole },
      { target: 'webhook:b', attempts: 1, notice: whole },
    ]);
    expect(await other.claim(now_ms + lease_ms - 1, now_ms + 2 * lease_ms, 10)).toEqual([]);
    const again = await other.claim(now_ms + lease_ms, now_ms + 3 * lease_ms, 10);
    expect(again.map(({ attempts, notice }) => [attempts, notice.id])).toEqual([
      [2, added.id],
      [2, added.id],
    ]);
    // The first instance was only slow: its result comes too late.
    await notices.settle(
      added.id,
      { target: 'webhook:a', attempts: 1 },
      { state: 'failed', at_ms: now_ms, fault: 'late' },
    );
    expect((await deliveriesOf(added)).map(({ state }) => state)).toEqual(['waiting', 'waiting']);
    await other.settle(added.id, again[0]!, { state: 'sent', at_ms: now_ms + 5, fault: '' });
    await other.settle(added.id, again[1]!, { state: 'waiting', at_ms: now_ms + 9000, fault: 'status 500' });
    expect(
      (await deliveriesOf(added)).map(({ state, due_ms, ended_ms, fault }) => ({
        state,
        due_ms,
        ended_ms,
        fault,
      })),
    ).toEqual(
      again[0]!.target === 'webhook:a'
        ? [
            { state: 'sent', due_ms: null, ended_ms: now_ms + 5, fault: '' },
            { state: 'waiting', due_ms: now_ms + 9000, ended_ms: null, fault: 'status 500' },
          ]
        : [
            { state: 'waiting', due_ms: now_ms + 9000, ended_ms: null, fault: 'status 500' },
            { state: 'sent', due_ms: null, ended_ms: now_ms + 5, fault: '' },
          ],
    );
    const before = await notices.waiting();
    const [last] = await notices.claim(now_ms + 9000, now_ms + 9999, 10);
    await notices.settle(added.id, last!, { state: 'failed', at_ms: now_ms + 9001, fault: 'given up' });
    expect(await notices.waiting()).toBe(before - 1);
  });

  it('lists the newest notices first, by what they are about, and deletes old ones with their deliveries', async () => {
    const old = await routed(['webhook:a'], {
      subject: 'provider:one',
      created_ms: now_ms - 1000,
      id: timeOrderedUuid(now_ms - 1000),
    });
    const young = await routed(['webhook:a'], { subject: 'provider:one' });
    const list = () => notices.list({ subject: 'provider:one', limit: 5 });
    expect((await list()).map(({ id }) => id)).toEqual([young.id, old.id]);
    expect(await notices.count({ subject: 'provider:one' })).toBe(2);
    const before = await notices.waiting();
    expect(await notices.prune(now_ms - 999, 10)).toBe(1);
    expect((await list()).map(({ id }) => id)).toEqual([young.id]);
    expect(await notices.waiting()).toBe(before - 1);
  });
});
