import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dayOf } from '../../../../src/common/calendar-day.ts';
import { day_ms } from '../../../../src/common/durations.ts';
import { usdOf } from '../../../../src/common/money.ts';
import type { RecordsStore } from '../../../../src/records/records-store.ts';
import { sumByTags, type TaggedQuery } from '../../../../src/records/tagged-usage.ts';
import { totalOf } from '../../../../src/records/usage-total.ts';
import { noon_ms } from '../../../support/fake-clock.ts';
import { openRecords } from '../../../support/open-records.ts';
import { sampleRow } from '../mount/ledger/sample-row.ts';

const stores: RecordsStore[] = [];
afterEach(() => Promise.all(stores.splice(0).map(store => store.close())));

const operator = { actor: 'ann', at_ms: noon_ms };
const settings = {
  tags: { team: ['a', 'b'], product: ['x'] },
  accounts: { acme: { keys: [{ name: 'ci', tags: { team: 'b' } }, { name: 'plain' }] }, bare: {} },
};

/** A store with a key of team a, which may have been rotated, and one without tags. */
async function storeWithKeys() {
  const store = await openRecords({ kind: 'memory' });
  stores.push(store);
  await store.migrate(noon_ms);
  const key = { account: 'acme', name: '', expires_ms: null };
  const { record } = await store.keys.create({ ...key, tags: { team: 'a', product: 'x' } }, operator);
  const rotated = await store.keys.rotate(record.id, 0, operator);
  const plain = await store.keys.create(key, operator);
  return { store, tagged: [record.id, rotated.record.id], plain: plain.record.id };
}

const insert = (store: RecordsStore, rows: readonly object[]) =>
  store.ledger.insert(rows.map((row, at) => ({ ...sampleRow(), id: `row-${at}`, ...row })));

describe('usage by tags', () => {
  it('counts keys of the store, rotated ones and those of the configuration by their tags, and all others as none', async () => {
    const { store, tagged, plain } = await storeWithKeys();
    const ids = [...tagged, plain, 'acme/ci', 'acme/plain', 'acme/gone', 'bare/ci', 'nobody/ci', null];
    await insert(
      store,
      ids.map((key_id, at) => ({
        account: 'acme',
        key_id,
        started_ms: noon_ms,
        cost_usd: usdOf(1n << BigInt(at)),
      })),
    );
    const by = async (...groups: TaggedQuery['by']) =>
      (await sumByTags({ store, settings }, { by: groups })).map(sum => [
        ...groups.map(group => sum[group]),
        sum.requests,
      ]);
    expect(await by('tag:team')).toEqual([
      ['', 6],
      ['a', 2],
      ['b', 1],
    ]);
    expect(await by('account', 'tag:product', 'tag:team')).toEqual([
      ['acme', '', '', 6],
      ['acme', '', 'b', 1],
      ['acme', 'x', 'a', 2],
    ]);
    expect(await by('key', 'tag:team')).toHaveLength(ids.length);
    const [most] = await sumByTags({ store, settings }, { by: ['tag:team'], order: 'cost', limit: 1 });
    expect(most).toMatchObject({ 'tag:team': '' });
  });

  it('adds up to what there is without tags, whatever was used', async () => {
    const { store, tagged, plain } = await storeWithKeys();
    const anyRow = fc.record({
      account: fc.constantFrom('acme', 'other'),
      model: fc.constantFrom('a/b', 'c/d', null),
      key_id: fc.constantFrom(...tagged, plain, 'acme/ci', null),
      started_ms: fc.integer({ min: noon_ms - 3 * day_ms, max: noon_ms }),
      cost_usd: fc.bigInt({ min: 0n, max: 3_000_000_000_000n }).map(usdOf),
      prompt_tokens: fc.nat(1000),
    });
    let inserted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyRow, { minLength: 1, maxLength: 12 }), async rows => {
        await insert(
          store,
          rows.map(row => ({ ...row, id: `any-${inserted++}` })),
        );
        for (const account of [undefined, 'acme']) {
          const whole = await store.usage.sum({ account, by: ['day', 'model'] });
          const sums = await sumByTags({ store, settings }, { account, by: ['day', 'tag:team', 'model'] });
          const groups = Map.groupBy(sums, ({ day, model }) => JSON.stringify([day, model]));
          expect(new Map([...groups].map(([name, parts]) => [name, totalOf(parts)]))).toEqual(
            new Map(whole.map(sum => [JSON.stringify([sum.day, sum.model]), totalOf([sum])])),
          );
        }
      }),
      { numRuns: 15 },
    );
  });

  it.each([undefined, 'acme'])(
    'refuses a time whose sums by key the store has deleted, of the account %s',
    async account => {
      const { store, tagged } = await storeWithKeys();
      const hour_ms = 3_600_000;
      const rows = [-2, 2].map(hours => ({
        account: 'acme',
        key_id: tagged[0],
        started_ms: noon_ms + hours * hour_ms,
      }));
      await insert(store, rows);
      const asked = () =>
        sumByTags({ store, settings }, { account, from_day: dayOf(noon_ms), by: ['tag:team'] });
      expect(await asked()).toMatchObject([{ 'tag:team': 'a', requests: 2 }]);
      await store.pruning.hours(noon_ms, 100);
      await expect(asked()).rejects.toMatchObject({ field: 'from' });
      await store.pruning.hours(noon_ms + day_ms, 100);
      await expect(asked()).rejects.toMatchObject({ message: expect.stringContaining('there are none') });
    },
  );

  it('refuses an unknown tag, and more sums by key than it may read', async () => {
    const { store, tagged } = await storeWithKeys();
    await insert(
      store,
      tagged.map(key_id => ({ account: 'acme', key_id, started_ms: noon_ms })),
    );
    await expect(sumByTags({ store, settings }, { by: ['tag:teem'] })).rejects.toMatchObject({
      message: expect.stringContaining("there is no tag 'teem'; did you mean 'team'?"),
      field: 'by',
    });
    await expect(sumByTags({ store, settings }, { by: ['tag:team'] }, 1)).rejects.toThrow(
      'more than 1 sums by key',
    );
    expect(await sumByTags({ store, settings }, { by: ['tag:team'] }, 2)).toHaveLength(1);
  });

  it.each([
    ['2026-07-31', '2026-11-30', 7, 'from'],
    ['2026-07-31', '2026-11-30', 5, undefined],
    ['2026-08-22', '2026-11-30', 7, undefined],
    [undefined, undefined, 7, 'from'],
  ])(
    'from %s to %s with %s requests of which five have sums by the hour',
    async (from_day, to_day, requests, field) => {
      const { store } = await storeWithKeys();
      const zero = totalOf([]);
      const usage = {
        detailedSince: async () => ({ providers: undefined, hours: '2026-08-21' }),
        sum: async ({ by, to_day }: TaggedQuery) => {
          if (by.includes('key')) return [{ ...zero, requests: 5, key: '' }];
          expect(to_day).toBe('2026-08-21');
          return [{ ...zero, requests: by.length === 0 ? requests : 5 }];
        },
      };
      const query = { ...(from_day && { from_day }), ...(to_day && { to_day }), by: ['tag:team'] as const };
      const asked = sumByTags({ store: { ...store, usage }, settings }, query);
      if (field === undefined) expect(await asked).toMatchObject([{ 'tag:team': '', requests: 5 }]);
      else
        await expect(asked).rejects.toMatchObject({
          field,
          message: expect.stringContaining('the day after 2026-08-21'),
        });
    },
  );
});
