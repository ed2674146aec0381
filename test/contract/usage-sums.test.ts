import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { openPostgres } from '../../plugins/stores/postgres/postgres.ts';
import type { Database } from '../../plugins/stores/records/database.ts';
import { ledgerRecords } from '../../plugins/stores/records/ledger-records.ts';
import { migrate } from '../../plugins/stores/records/migrate.ts';
import {
  type UsageGroup,
  type UsageQuery,
  type UsageSum,
  usageGroups,
} from '../../plugins/stores/records/usage-query.ts';
import { usageRecords } from '../../plugins/stores/records/usage-records.ts';
import { openSqlite } from '../../plugins/stores/sqlite/sqlite.ts';
import type { ErrorClass } from '../../src/common/end-class.ts';
import { picoUsd, usdOf } from '../../src/common/money.ts';
import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

const day_ms = 86_400_000;
const first_ms = Date.parse('2025-11-17T00:00:00Z');
const days = 130;
const accounts = ['acme', 'Zeta', 'o’neil & sons', 'a b', '+x'];
const models = ['v/one', 'v/two', 'x/three', null];
const providers = ['local', 'cloud', null];
const keys = ['key_1', 'key_2', null];
/** Ends, and the class of errors in which each is counted. */
const ends: readonly (Pick<LedgerRow, 'status' | 'error_type' | 'end_reason'> & { counts?: ErrorClass })[] = [
  { status: 200, error_type: null, end_reason: 'completed' },
  { status: 0, error_type: null, end_reason: 'client_gone' },
  { status: 200, error_type: 'provider_error', end_reason: 'upstream_failed', counts: 'provider_failed' },
  { status: 524, error_type: 'timeout_error', end_reason: 'time_limit', counts: 'gateway_failed' },
  { status: 429, error_type: 'rate_limit_error', end_reason: 'refused', counts: 'refusal' },
  { status: 400, error_type: 'invalid_request_error', end_reason: 'refused', counts: 'client_error' },
];
const classOf = ({ end_reason, status }: LedgerRow) =>
  ends.find(end => end.end_reason === end_reason && end.status === status)!.counts;

/** The same rows in every run, from November to March, with costs that floating point would lose. */
const rows: readonly LedgerRow[] = fc
  .sample(
    fc.record({
      account: fc.constantFrom(...accounts),
      model: fc.constantFrom(...models),
      provider: fc.constantFrom(...providers),
      key_id: fc.constantFrom(...keys),
      at_ms: fc.nat({ max: days * day_ms - 1 }),
      end: fc.constantFrom(...ends),
      tokens: fc.nat({ max: 9000 }),
      estimated: fc.boolean(),
      cost: fc.nat({ max: 2_000_000_000 }),
    }),
    { numRuns: 700, seed: 8 },
  )
  .map(({ at_ms, end: { counts: _, ...end }, tokens, cost, ...more }, at) =>
    sampleRow({
      id: `row-${at}`,
      ...more,
      ...end,
      started_ms: first_ms + at_ms,
      attempts_made: [],
      prompt_tokens: tokens * 3,
      completion_tokens: tokens,
      cached_tokens: tokens % 7,
      reasoning_tokens: tokens % 11,
      cost_usd: usdOf(BigInt(cost) * 1_000_003n),
    }),
  );

const dayOf = (epoch_ms: number): string => new Date(epoch_ms).toISOString().slice(0, 10);
const groupOf: Record<UsageGroup, (row: LedgerRow) => string> = {
  account: ({ account }) => account,
  model: ({ model }) => model ?? '',
  provider: ({ provider }) => provider ?? '',
  key: ({ key_id }) => key_id ?? '',
  hour: ({ started_ms }) => `${new Date(started_ms).toISOString().slice(0, 13).replace('T', ' ')}:00`,
  day: ({ started_ms }) => dayOf(started_ms),
  month: ({ started_ms }) => dayOf(started_ms).slice(0, 7),
};

/** What is true, added up from the rows themselves. */
function summed(query: UsageQuery): UsageSum[] {
  const { account, model, provider, key, from_day = '', to_day = '9', by, among } = query;
  const asked = rows.filter(row => {
    const day = groupOf.day(row);
    return (
      (account === undefined || row.account === account) &&
      (model === undefined || (row.model ?? '') === model) &&
      (provider === undefined || (row.provider ?? '') === provider) &&
      (key === undefined || (row.key_id ?? '') === key) &&
      (among === undefined || among.names.includes(groupOf[among.group](row))) &&
      from_day <= day &&
      day <= to_day
    );
  });
  const groups = Map.groupBy(asked, row => JSON.stringify(by.map(group => groupOf[group](row))));
  return [...groups.values()].map(members => {
    const count = (of: (row: LedgerRow) => number) => members.reduce((sum, row) => sum + of(row), 0);
    return {
      ...Object.fromEntries(by.map(group => [group, groupOf[group](members[0]!)])),
      requests: members.length,
      failed_requests: count(row => (classOf(row) ? 1 : 0)),
      provider_failed: count(row => Number(classOf(row) === 'provider_failed')),
      gateway_failed: count(row => Number(classOf(row) === 'gateway_failed')),
      refusal: count(row => Number(classOf(row) === 'refusal')),
      client_error: count(row => Number(classOf(row) === 'client_error')),
      estimated_requests: count(row => Number(row.estimated)),
      prompt_tokens: count(row => row.prompt_tokens),
      completion_tokens: count(row => row.completion_tokens),
      cached_tokens: count(row => row.cached_tokens),
      reasoning_tokens: count(row => row.reasoning_tokens),
      cost_usd: usdOf(members.reduce((sum, row) => sum + picoUsd(row.cost_usd), 0n)),
    };
  });
}

const nameOf = (sum: UsageSum): string => usageGroups.map(group => sum[group]).join('\n');
const sorted = (sums: readonly UsageSum[]): UsageSum[] =>
  sums.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));

const someDay = fc.option(
  fc.integer({ min: -40, max: days + 40 }).map(at => dayOf(first_ms + at * day_ms)),
  {
    nil: undefined,
  },
);
const queries: fc.Arbitrary<UsageQuery> = fc
  .record({
    account: fc.option(fc.constantFrom(...accounts, 'nobody'), { nil: undefined, freq: 2 }),
    model: fc.option(fc.constantFrom(...models.map(model => model ?? ''), 'v/none'), {
      nil: undefined,
      freq: 2,
    }),
    provider: fc.option(fc.constantFrom(...providers.map(provider => provider ?? ''), 'none'), {
      nil: undefined,
      freq: 1,
    }),
    key: fc.option(fc.constantFrom(...keys.map(key => key ?? '')), { nil: undefined, freq: 1 }),
    from_day: someDay,
    to_day: someDay,
    by: fc.shuffledSubarray([...usageGroups]),
    among: fc.option(fc.constant({ group: 'account' as const, names: ['acme', '+x'] }), {
      nil: undefined,
      freq: 1,
    }),
  })
  .map(
    ({ by, ...rest }) =>
      ({
        by,
        ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
      }) as UsageQuery,
  )
  // Names are chosen from a group that is shown.
  .map(({ among, ...query }) => (among && query.by.includes(among.group) ? { ...query, among } : query));

const targets = recordsTargets();

const kinds: readonly [string, boolean, number, () => Promise<Database>][] = [
  ['SQLite', false, 400, () => openSqlite(targets.newFile())],
  ['Postgres', true, 150, async () => openPostgres(await targets.newDatabase(), () => {})],
];

describe.each(kinds)('the usage sums in %s', (_, isPostgres, numRuns, open) => {
  let database: Database;
  afterAll(() => database?.close());

  /** Whatever is asked is what the rows add up to, to the last token. */
  async function areTrue(): Promise<void> {
    const usage = usageRecords(database);
    await fc.assert(
      fc.asyncProperty(queries, async query => {
        expect(sorted(await usage.sum(query))).toEqual(sorted(summed(query)));
      }),
      { numRuns },
    );
  }

  it('equal the sums of the ledger rows for any query over any days', async () => {
    database = await open();
    await migrate(database, isPostgres, first_ms);
    const ledger = ledgerRecords(database);
    // Out of order and twice, as after an outage.
    for (const part of [rows.slice(300), rows.slice(0, 400), rows.slice(200)]) await ledger.insert(part);
    await areTrue();
  });

  it('list the most expensive accounts first for any days', async () => {
    const usage = usageRecords(database);
    await fc.assert(
      fc.asyncProperty(queries, fc.integer({ min: 1, max: 6 }), async (query, limit) => {
        const { among: _, ...rest } = query;
        const asked: UsageQuery = { ...rest, by: ['account'], order: 'cost', limit };
        const expected = summed(asked).toSorted((a, b) =>
          picoUsd(b.cost_usd) > picoUsd(a.cost_usd) ? 1 : -1,
        );
        expect(await usage.sum(asked)).toEqual(expected.slice(0, limit));
      }),
      { numRuns: Math.ceil(numRuns / 4) },
    );
  });

  it.each(['account', 'model', 'provider', 'key'] as const)(
    'list %ss by tokens and by requests',
    async group => {
      const usage = usageRecords(database);
      for (const [order, of] of [
        ['tokens', (sum: UsageSum) => sum.prompt_tokens + sum.completion_tokens],
        ['requests', (sum: UsageSum) => sum.requests],
      ] as const) {
        const found = await usage.sum({ by: [group], order });
        expect(sorted(found)).toEqual(sorted(summed({ by: [group] })));
        expect(found.map(of)).toEqual(found.map(of).toSorted((a, b) => b - a));
      }
    },
  );

  it('tell since when there are sums by provider, and by the hour', async () => {
    const first = dayOf(Math.min(...rows.map(({ started_ms }) => started_ms)));
    expect(await usageRecords(database).detailedSince()).toEqual({ providers: first, hours: first });
  });
});
