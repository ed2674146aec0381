import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { day_ms } from '../../../../src/common/durations.ts';
import { picoUsd, usdOf } from '../../../../src/common/money.ts';
import type { RecordsStore } from '../../../../src/records/records-store.ts';
import { fixedUsd, isMonth, statementColumns, statementOf } from '../../../../src/records/statement.ts';
import { noon_ms } from '../../../support/fake-clock.ts';
import { openRecords } from '../../../support/open-records.ts';
import { sampleRow } from '../mount/ledger/sample-row.ts';

const stores: RecordsStore[] = [];
afterEach(() => Promise.all(stores.splice(0).map(store => store.close())));

async function storeWith(rows: readonly object[]): Promise<RecordsStore> {
  const store = await openRecords({ kind: 'memory' });
  stores.push(store);
  await store.migrate(noon_ms);
  await store.ledger.insert(rows.map((row, at) => ({ ...sampleRow(), id: `row-${at}`, ...row })));
  return store;
}

const october_ms = Date.UTC(2026, 9, 1);
const anyRow = fc.record({
  account: fc.constantFrom('acme', 'other'),
  model: fc.constantFrom('a/b', 'c/d', null),
  key_id: fc.constantFrom('key_1', 'key_2', null),
  started_ms: fc.integer({ min: october_ms - 2 * day_ms, max: october_ms + 33 * day_ms }),
  cost_usd: fc.bigInt({ min: 0n, max: 3_000_000_000_000n }).map(usdOf),
  prompt_tokens: fc.nat(1000),
});

const added = (costs: readonly string[]): string => usdOf(costs.reduce((sum, usd) => sum + picoUsd(usd), 0n));

describe('a statement', () => {
  it('has lines by model and key, those of keys that are not in the store together, and the same decimals', async () => {
    const row = { account: 'acme', model: 'a/b', key_id: null, started_ms: october_ms, prompt_tokens: 7 };
    const store = await storeWith([]);
    const { record } = await store.keys.create(
      { account: 'acme', name: '=ours', expires_ms: null },
      { actor: 'a', at_ms: 1 },
    );
    await store.ledger.insert(
      [
        { ...row, cost_usd: '0.5' },
        { ...row, key_id: record.id, cost_usd: '1.0000004' },
        { ...row, key_id: record.id, cost_usd: '1' },
        { ...row, account: 'other', cost_usd: '100' },
        { ...row, started_ms: october_ms - 1, cost_usd: '100' },
      ].map((row, at) => ({ ...sampleRow(), id: `row-${at}`, ...row })),
    );
    const statement = await statementOf(store, '2026-10', 'acme');
    expect(statement).toMatchObject({ from_day: '2026-10-01', to_day: '2026-10-31', decimals: 7 });
    const columns = statementColumns(statement);
    const cells = statement.lines.map(line => columns.map(({ value }) => value(line)));
    expect(columns.map(({ title }) => title).join(';')).toBe(
      'month;account;model;key;key_name;requests;errors;prompt_tokens;cached_tokens;completion_tokens;reasoning_tokens;cost_usd',
    );
    expect(cells.map(line => [...line.slice(0, 6), line.at(-1)])).toEqual([
      ['2026-10', 'acme', 'a/b', '', '', 1, '0.5000000'],
      ['2026-10', 'acme', 'a/b', record.id, '=ours', 2, '2.0000004'],
    ]);
    expect(statementColumns(statement, false).map(({ title }) => title)).not.toContain('cost_usd');
    expect((await statementOf(store, '2026-09', 'nobody')).lines).toEqual([]);
  });

  it('agrees with the ledger to the last digit, of one account and of all, also once keys are no longer told apart', async () => {
    const property = fc.asyncProperty(
      fc.array(anyRow, { maxLength: 30 }),
      fc.boolean(),
      async (rows, isOld) => {
        const store = await storeWith(rows);
        if (isOld) await store.pruning.hours(october_ms + 15 * day_ms, 10_000);
        for (const account of ['acme', undefined]) {
          const { lines, total, decimals } = await statementOf(store, '2026-10', account);
          const own = rows.filter(
            row =>
              (account === undefined || row.account === account) &&
              row.started_ms >= october_ms &&
              row.started_ms < october_ms + 31 * day_ms,
          );
          const cost_usd = added(own.map(row => row.cost_usd));
          expect([total.cost_usd, added(lines.map(line => line.cost_usd))]).toEqual([cost_usd, cost_usd]);
          expect(added(lines.map(line => fixedUsd(line.cost_usd, decimals)))).toBe(cost_usd);
          expect(lines.reduce((sum, { requests }) => sum + requests, 0)).toBe(own.length);
          expect(lines.reduce((sum, { prompt_tokens }) => sum + prompt_tokens, 0)).toBe(
            own.reduce((sum, { prompt_tokens }) => sum + prompt_tokens, 0),
          );
          if (isOld) continue;
          const group = (row: { account: string; model: string | null; key: string | null }) =>
            JSON.stringify([row.account, row.model ?? '', row.key ?? '']);
          const costs = Map.groupBy(own, row => group({ ...row, key: row.key_id }));
          expect(new Map(lines.map(line => [group(line), line.cost_usd]))).toEqual(
            new Map([...costs].map(([name, some]) => [name, added(some.map(row => row.cost_usd))])),
          );
        }
        await stores.pop()!.close();
      },
    );
    await fc.assert(property, { numRuns: 30 });
  });

  it('is refused above the lines that it may have', async () => {
    const store = await storeWith(
      ['a', 'b', 'c'].map(model => ({ account: 'acme', model, started_ms: october_ms })),
    );
    expect((await statementOf(store, '2026-10', 'acme', 3)).lines).toHaveLength(3);
    await expect(statementOf(store, '2026-10', 'acme', 2)).rejects.toThrow('more than 2 lines');
  });

  it.each([
    ['2026-10', true],
    ['2026-13', false],
    ['2026-1', false],
    ['2026-10-01', false],
  ])('is of a month: %s is one: %s', (text, isOne) => {
    expect(isMonth(text)).toBe(isOne);
  });
});
