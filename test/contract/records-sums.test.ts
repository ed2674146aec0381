import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { openPostgres } from '../../plugins/stores/postgres/postgres.ts';
import { ledgerRecords } from '../../plugins/stores/records/ledger-records.ts';
import { migrate } from '../../plugins/stores/records/migrate.ts';
import { usageRecords } from '../../plugins/stores/records/usage-records.ts';
import { type ErrorClass, errorClasses } from '../../src/common/end-class.ts';
import { timeOrderedUuid } from '../../src/common/ids.ts';
import { picoUsd, signedUsdOf, usdOf } from '../../src/common/money.ts';
import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { Retention, type RetentionSetup, type RetentionTimes } from '../../src/mount/records/retention.ts';
import type { Database } from '../../src/records/database.ts';
import type { Pruning } from '../../src/records/pruning.ts';
import type { RecordsStore } from '../../src/records/records-store.ts';
import { openSqlite } from '../../src/records/sqlite/sqlite.ts';
import type { TrafficFilter, TrafficRange } from '../../src/records/traffic-records.ts';
import {
  duration_bounds_ms,
  first_token_bounds_ms,
  trafficSteps,
} from '../../src/records/traffic-records.ts';
import {
  type UsageGroup,
  type UsageQuery,
  type UsageSum,
  usageGroups,
} from '../../src/records/usage-records.ts';
import { RecordsMetrics } from '../../src/telemetry/records-metrics.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { RecordsTarget } from '../support/open-records.ts';
import { openRecords } from '../support/open-records.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

/** One server for all of these. */
const targets = recordsTargets();

describe('sums over time', () => {
  const minute_ms = 60_000;
  const hour_ms = 60 * minute_ms;
  const start_ms = Date.parse('2026-11-20T12:00:00Z');

  const attempt = (more: Partial<LedgerRow['attempts_made'][number]> = {}) => ({
    ...sampleRow().attempts_made[0]!,
    ...more,
  });
  const failed = { error_type: 'provider_error', end_reason: 'upstream_failed', status: 502 };

  /** Four requests of one minute, one of the next, and one that began 50 minutes before all others. */
  const rows: readonly LedgerRow[] = [
    sampleRow({ started_ms: start_ms, first_token_ms: 50 }),
    sampleRow({ started_ms: start_ms + 59_999, first_token_ms: 51 }),
    sampleRow({
      started_ms: start_ms,
      provider: 'backup',
      first_token_ms: 90_000,
      attempts_made: [
        attempt({ outcome: 'failed', kind: 'timeout', first_token_ms: null, duration_ms: 30_000 }),
        attempt({ outcome: 'failed', kind: 'timeout', first_token_ms: null, offset_ms: 70_000 }),
        attempt({ provider: 'backup', first_token_ms: 49, duration_ms: 90 }),
      ],
    }),
    sampleRow({
      ...failed,
      started_ms: start_ms,
      first_token_ms: null,
      attempts_made: [
        attempt({
          model: 'small',
          outcome: 'failed',
          kind: 'unreachable',
          first_token_ms: null,
          duration_ms: null,
        }),
      ],
    }),
    sampleRow({
      started_ms: start_ms + minute_ms,
      model: null,
      provider: null,
      status: 503,
      attempts_made: [],
      first_token_ms: null,
    }),
    sampleRow({ started_ms: start_ms - 50 * minute_ms, model: 'v/two', attempts_made: [] }),
  ];
  const refusals = {
    id: timeOrderedUuid(start_ms),
    refusals: [
      {
        account: 'acme',
        key_id: null,
        model: 'v/one',
        status: 429,
        error_type: 'rate_limit_error',
        end_reason: 'refused',
        started_ms: start_ms + 30_000,
        requests: 7,
      },
    ],
  };

  const kinds: readonly [string, () => Promise<RecordsTarget>][] = [
    ['memory', async () => ({ kind: 'memory' })],
    ['SQLite', async () => ({ kind: 'sqlite', path: targets.newFile() })],
    ['Postgres', async () => ({ kind: 'postgres', url: await targets.newDatabase() })],
  ];

  describe.each(kinds)('the sums over time in %s', (_, newTarget) => {
    let store: RecordsStore;

    beforeAll(async () => {
      store = await openRecords(await newTarget());
      await store.migrate(start_ms);
      await store.ledger.insert(rows.slice(0, 2));
      // What came before is counted once.
      await store.ledger.insert([...rows, refusals]);
      await store.ledger.insert([refusals]);
    });
    afterAll(() => store.close());

    const range = (more: Partial<TrafficRange> = {}): TrafficRange => ({
      step_ms: minute_ms,
      point_ms: minute_ms,
      from_ms: start_ms,
      until_ms: start_ms + 10 * minute_ms,
      ...more,
    });

    it('count requests, and errors of each class apart, by the minute and by provider, model and type of error', async () => {
      const of = async (split: 'provider' | 'model' | 'error_type') =>
        (await store.traffic.points(range(), split)).map(
          ({ at_ms, name, requests, ...errors }) =>
            [
              (at_ms - start_ms) / minute_ms,
              name,
              requests,
              errorClasses.filter(end => errors[end] > 0).map(end => `${errors[end]} ${end}`),
            ] as const,
        );
      expect(await of('provider')).toEqual([
        [0, '', 7, ['7 refusal']],
        [0, 'backup', 1, []],
        [0, 'local', 3, ['1 provider_failed']],
        [1, '', 1, ['1 gateway_failed']],
        // An attempt of the second request began in this minute.
        [1, 'local', 0, []],
      ]);
      expect(await of('model')).toEqual([
        [0, 'v/one', 11, ['1 provider_failed', '7 refusal']],
        [1, '', 1, ['1 gateway_failed']],
      ]);
      // An error without a type, of the application's own handler, has its status.
      expect(await of('error_type')).toEqual([
        [0, '', 3, []],
        [0, 'provider_error', 1, ['1 provider_failed']],
        [0, 'rate_limit_error', 7, ['7 refusal']],
        [1, '503', 1, ['1 gateway_failed']],
      ]);
    });

    it('count times to the first token up to each bound, and those behind the last', async () => {
      const [first] = await store.traffic.points(range(), 'model');
      expect(first!.first_tokens).toEqual([1, 1, ...Array(first_token_bounds_ms.length - 2).fill(0), 1]);
    });

    it('book a delay at the provider whose attempt it was, and not at the one that answered in the end', async () => {
      const [, backup, local] = await store.traffic.points(range(), 'provider');
      const at = (bound_ms: number) => first_token_bounds_ms.map(ms => Number(ms === bound_ms));
      expect(backup!.attempt_first_tokens).toEqual([...at(50), 0]);
      expect(local!.attempt_first_tokens).toEqual([...at(150), 0]);
      expect(backup!.first_tokens).toEqual([...at(0), 1]);
      const attempts = await store.traffic.attempts(range({ until_ms: start_ms + minute_ms }));
      const took = attempts.map(({ provider, kind, durations }) => [
        provider,
        kind,
        duration_bounds_ms.filter((_, bound) => durations[bound]! > 0),
      ]);
      expect(took).toEqual([
        ['backup', '', [100]],
        ['local', '', [2000]],
        ['local', 'timeout', [30_000]],
        ['local', 'unreachable', []],
      ]);
    });

    it('are narrowed by filters that combine, those of an account from its rows of the ledger', async () => {
      const of = async (filter: TrafficFilter) => {
        const points = await store.traffic.points({ ...range(), ...filter }, 'model');
        return points.map(({ name, requests, tokens, cost_usd }) => [name, requests, tokens, cost_usd]);
      };
      const { prompt_tokens, completion_tokens, cost_usd } = rows[0]!;
      const used = (requests: number) => [
        requests,
        requests * (prompt_tokens + completion_tokens),
        usdOf(BigInt(requests) * picoUsd(cost_usd)),
      ];
      expect(await of({ provider: 'local' })).toEqual([['v/one', ...used(3)]]);
      expect(await of({ provider: '', model: '' })).toEqual([['', ...used(1)]]);
      expect(await of({ provider: 'backup', model: 'v/two' })).toEqual([]);
      const own = { account: 'acme', provider: 'local' };
      expect(await of(own)).toEqual([['v/one', ...used(3)]]);
      expect(await of({ account: 'another' })).toEqual([]);
      const upstreams = [{ provider: 'local', model: 'small' }];
      const narrowed = { ...range(), account: 'acme', upstreams };
      expect((await store.traffic.attempts(narrowed)).map(({ kind }) => kind)).toEqual(['unreachable']);
      for (const split of ['provider', 'model', 'error_type'] as const)
        for (const filter of [{ provider: 'local' }, { provider: 'local', upstreams }, { provider: '' }]) {
          const asked = { ...range(), ...filter, from_ms: start_ms - minute_ms };
          const own = await store.traffic.points({ ...asked, account: 'acme' }, split);
          const kept = await store.traffic.points(asked, split);
          // What was refused at once has no rows.
          expect(own).toEqual(kept.filter(({ refusal }) => refusal === 0));
        }
    });

    it('are the same in every step of time', async () => {
      const totals = await Promise.all(
        trafficSteps.map(async ({ step_ms }) => {
          const whole = {
            step_ms,
            point_ms: 2 * hour_ms,
            from_ms: start_ms - hour_ms,
            until_ms: start_ms + hour_ms,
          };
          const points = await store.traffic.points(range(whole), 'model');
          return points.map(({ at_ms, name, requests, first_tokens }) => [
            at_ms,
            name,
            requests,
            first_tokens,
          ]);
        }),
      );
      // Points of two hours, which begin at 10:00 and at 12:00.
      expect(totals[0]!.map(([at_ms, name, requests]) => [at_ms, name, requests])).toEqual([
        [start_ms - 2 * hour_ms, 'v/two', 1],
        [start_ms, '', 1],
        [start_ms, 'v/one', 11],
      ]);
      for (const other of totals) expect(other).toEqual(totals[0]);
    });

    it('tell the causes of failures by point', async () => {
      const causes = await store.traffic.failures(range({ point_ms: 10 * minute_ms }));
      expect(causes).toEqual([
        { at_ms: start_ms, provider: '', model: '', error_type: '503', end_reason: 'completed', requests: 1 },
        {
          at_ms: start_ms,
          provider: '',
          model: 'v/one',
          error_type: 'rate_limit_error',
          end_reason: 'refused',
          requests: 7,
        },
        {
          at_ms: start_ms,
          provider: 'local',
          model: 'v/one',
          error_type: 'provider_error',
          end_reason: 'upstream_failed',
          requests: 1,
        },
      ]);
    });

    it('count every attempt at a model of a provider at the time at which it began', async () => {
      const sums = await store.traffic.attempts(range());
      const shown = sums.map(({ durations: _, first_tokens, ...sum }) => [
        Object.values(sum).join(' '),
        first_tokens.reduce((all, count) => all + count, 0),
      ]);
      expect(shown).toEqual([
        ['backup one completed  1', 1],
        ['local one completed  2', 2],
        ['local one failed timeout 2', 0],
        ['local small failed unreachable 1', 0],
      ]);
      const first = await store.traffic.attempts(range({ until_ms: start_ms + minute_ms }));
      expect(first.find(({ kind }) => kind === 'timeout')).toMatchObject({ attempts: 1 });
    });

    it('are pruned, each step when it is not shown any longer', async () => {
      const now_ms = start_ms + 14 * hour_ms;
      let pruned = 0;
      for (let deleted = -1; deleted !== 0; pruned += deleted)
        deleted = (await store.pruning.traffic(now_ms, 2)) as number;
      expect(pruned).toBeGreaterThan(8);
      expect(await store.traffic.points(range(), 'provider')).toEqual([]);
      expect(await store.traffic.attempts(range())).toEqual([]);
      const hours = range({ step_ms: hour_ms, point_ms: hour_ms });
      expect(await store.traffic.points(hours, 'error_type')).toHaveLength(4);
      expect(await store.pruning.traffic(now_ms + 63 * 24 * hour_ms, 100)).toBeGreaterThan(5);
      expect(await store.traffic.attempts(hours)).not.toEqual([]);
      while ((await store.pruning.traffic(now_ms + 63 * 24 * hour_ms, 100)) !== 0);
      expect(await store.traffic.attempts(hours)).toEqual([]);
    });
  });
});

describe('sums of usage', () => {
  const day_ms = 86_400_000;
  const first_ms = Date.parse('2025-11-17T00:00:00Z');
  const days = 130;
  const accounts = ['acme', 'Zeta', 'o’neil & sons', 'a b', '+x'];
  const models = ['v/one', 'v/two', 'x/three', null];
  const providers = ['local', 'cloud', null];
  const keys = ['key_1', 'key_2', null];
  /** Ends, and the class of errors in which each is counted. */
  const ends: readonly (Pick<LedgerRow, 'status' | 'error_type' | 'end_reason'> & { counts?: ErrorClass })[] =
    [
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
        paid: fc.option(fc.nat({ max: 2_000_000_000 })),
      }),
      { numRuns: 700, seed: 8 },
    )
    .map(({ at_ms, end: { counts: _, ...end }, tokens, cost, paid, ...more }, at) =>
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
        paid_usd: paid === null ? null : usdOf(BigInt(paid) * 1_000_003n),
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
      const paid = members.filter(({ paid_usd }) => paid_usd !== null);
      const usd = (of: (row: LedgerRow) => bigint) =>
        signedUsdOf(paid.reduce((sum, row) => sum + of(row), 0n));
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
        ...(paid.length > 0 && {
          paid_requests: paid.length,
          paid_usd: usd(row => picoUsd(row.paid_usd!)),
          margin_usd: usd(row => picoUsd(row.cost_usd) - picoUsd(row.paid_usd!)),
        }),
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
});

describe('retention', () => {
  const day_ms = 86_400_000;
  const now_ms = Date.parse('2026-11-20T12:00:00Z');
  const never = Number.POSITIVE_INFINITY;

  const kinds: readonly [string, () => Promise<RecordsTarget>][] = [
    ['memory', async () => ({ kind: 'memory' })],
    ['SQLite', async () => ({ kind: 'sqlite', path: targets.newFile() })],
    [
      'Postgres',
      async () => ({
        kind: 'postgres',
        url: await targets.copyOf('newest', made => migrate(made, true, now_ms)),
      }),
    ],
  ];

  let lines: { readonly level: string; readonly [fact: string]: unknown }[];
  const logged = (level: string) => (facts: object, message: string) =>
    void lines.push({ level, message, ...facts });
  const log = { info: logged('info'), warn: logged('warn'), debug: logged('debug') } as never;

  /** A job that waits for nothing between its steps. */
  const retentionOf = (
    setup: Pick<RetentionSetup, 'pruning'> & Partial<RetentionSetup>,
    times: Partial<RetentionTimes>,
  ): Retention =>
    new Retention({
      times: { rows_ms: never, sums_ms: never, ...times },
      rows_per_step: 200,
      clock: new FakeClock(now_ms),
      log,
      metrics: new RecordsMetrics(new Registry()),
      wait: async () => {},
      ...setup,
    });

  describe.each(kinds)('the retention job in %s', (kind, newTarget) => {
    let target: RecordsTarget;
    let store: RecordsStore;
    let registry: Registry;

    beforeEach(async () => {
      target = await newTarget();
      store = await openRecords(target);
      await store.migrate(now_ms);
      registry = new Registry();
      lines = [];
    });
    afterEach(() => store.close());

    const retention = (times: Partial<RetentionTimes>, more: Partial<RetentionSetup> = {}) =>
      retentionOf({ pruning: store.pruning, metrics: new RecordsMetrics(registry), ...more }, times);

    const pruned = async (of: string): Promise<number> => {
      const text = await registry.getSingleMetricAsString('sluice_records_pruned_total');
      return Number(new RegExp(`kind="${of}"} (\\d+)`).exec(text)?.[1] ?? 0);
    };

    /** A row of each of the last `days`, at noon. */
    const history = (days: number) =>
      Array.from({ length: days }, (_, ago) =>
        sampleRow({
          started_ms: now_ms - ago * day_ms,
          model: ago % 2 === 0 ? 'v/one' : null,
          key_id: 'key_1',
        }),
      );
    const sums = () => store.usage.sum({ by: ['account', 'model', 'day'] });
    const months = async () =>
      (await store.usage.sum({ by: ['account', 'month'] })).map(({ month }) => month);

    it('deletes expired rows in small steps and changes no sum', async () => {
      const rows = history(120);
      await store.ledger.insert(rows);
      const before = await sums();
      const total = await store.usage.sum({ by: ['account'] });
      const steps: unknown[] = [];
      const pruning = {
        ...store.pruning,
        rows: async (before_ms: number, limit: number) => {
          const deleted = await store.pruning.rows(before_ms, limit);
          steps.push(deleted);
          return deleted;
        },
      };
      await retention({ rows_ms: 90 * day_ms }, { rows_per_step: 10, pruning }).run();
      expect(steps).toEqual([10, 10, 9, 0]);
      const left = await store.ledger.list({ limit: 500 });
      expect(left).toHaveLength(91);
      expect(left.at(-1)!.started_ms).toBe(now_ms - 90 * day_ms);
      const found = await store.ledger.find(sampleRow().request_id);
      expect(found.every(({ attempts_made }) => attempts_made.length === 1)).toBe(true);
      expect(await sums()).toEqual(before);
      expect(await store.usage.sum({ by: ['account'] })).toEqual(total);
      expect([await pruned('rows'), await pruned('sums')]).toEqual([29, 0]);
      const attempts = await store.database!.run('SELECT COUNT(*) AS attempts FROM sluice.attempts');
      expect(attempts).toEqual([{ attempts: 91 }]);
      expect(lines).toEqual([
        {
          level: 'info',
          message: 'pruned the records store',
          rows: 29,
          sums: 0,
          elapsed_ms: expect.any(Number),
        },
      ]);
    });

    it('deletes sums by whole months and keeps the budgets of the current month', async () => {
      await store.ledger.insert(history(120));
      const refused = {
        account: 'acme',
        key_id: null,
        model: null,
        status: 429,
        error_type: 'rate_limit_error',
      };
      await store.ledger.insert(
        [0, 100].map(ago => ({
          id: timeOrderedUuid(now_ms - ago * day_ms),
          refusals: [{ ...refused, end_reason: 'refused', started_ms: now_ms - ago * day_ms, requests: 5 }],
        })),
      );
      const since = [0, Date.parse('2026-11-01'), Date.parse('2026-11-20')];
      const budgets = await store.usage.budgets(['acme'], since);
      const october = await store.usage.sum({ by: ['day'], from_day: '2026-10-01' });
      await retention({ sums_ms: 32 * day_ms }).run();
      expect(await months()).toEqual(['2026-10', '2026-11']);
      // From October on, to the 20th of November.
      expect((await store.usage.ofKeys(['key_1'], '2026-01-01')).get('key_1')).toMatchObject({
        requests: 51,
      });
      expect(await store.usage.sum({ by: ['day'] })).toEqual(october);
      expect(await store.usage.budgets(['acme'], since)).toEqual(budgets);
      expect(await store.usage.refusals({ limit: 9 })).toMatchObject([{ day: '2026-11-20', requests: 5 }]);
      expect(await store.ledger.list({ limit: 500 })).toHaveLength(120);
      expect(await pruned('sums')).toBeGreaterThan(100);
    });

    it('deletes sums by the hour after 92 days, and sums by provider with the others', async () => {
      await store.ledger.insert(history(120));
      await retention({}).run();
      const hours = await store.usage.sum({ by: ['hour'] });
      expect([hours[0]!.hour, hours.length]).toEqual(['2026-08-20 12:00', 93]);
      expect(await store.usage.sum({ by: ['provider', 'day'] })).toHaveLength(120);
      await retention({ sums_ms: 32 * day_ms }).run();
      expect(await store.usage.detailedSince()).toEqual({ providers: '2026-10-01', hours: '2026-10-19' });
    });

    it('deletes nothing when nothing has expired', async () => {
      await store.ledger.insert(history(120));
      await retention({}).run();
      expect(await store.ledger.list({ limit: 500 })).toHaveLength(120);
      expect(await months()).toHaveLength(5);
      expect(lines).toMatchObject([{ level: 'debug' }]);
    });

    it('forgets batches of refusals that are not sent again', async () => {
      const refusals = [
        {
          account: 'acme',
          key_id: null,
          model: null,
          status: 429,
          error_type: null,
          end_reason: 'refused',
          started_ms: now_ms,
          requests: 1,
        },
      ];
      const [old, young] = [8, 6].map(ago => ({ id: timeOrderedUuid(now_ms - ago * day_ms), refusals }));
      await store.ledger.insert([old!, young!]);
      await retention({}).run();
      await store.ledger.insert([old!, young!]);
      expect(await store.usage.refusals({ limit: 9 })).toMatchObject([{ requests: 3 }]);
    });

    it('runs beside ledger writes and stops between two steps when it is closed', async () => {
      await store.ledger.insert(history(120));
      const slow = retention({ rows_ms: day_ms / 2 }, { rows_per_step: 1, wait: () => setImmediate() });
      const running = slow.run();
      const inserted = Array.from({ length: 20 }, () =>
        store.ledger.insert([sampleRow({ started_ms: now_ms })]),
      );
      expect(await Promise.all(inserted)).toEqual(Array(20).fill(1));
      await slow.close();
      await running;
      const left = await store.ledger.list({ limit: 500 });
      expect(left.length).toBeGreaterThan(21);
      expect(left.length).toBeLessThan(140);
      expect(await store.usage.sum({ by: [] })).toMatchObject([{ requests: 140 }]);
    });

    if (kind === 'Postgres')
      it('leaves the work to the instance that is already doing it', async () => {
        await store.ledger.insert(history(120));
        const { url } = target as { url: string };
        const other = await openPostgres(url, () => {});
        await other.transaction(async connection => {
          await connection.run(`SELECT pg_advisory_xact_lock(${0x736c75696366})`);
          expect(await store.pruning.rows(now_ms, 10)).toBe('taken');
          await retention({ rows_ms: day_ms }).run();
        });
        expect(await store.ledger.list({ limit: 500 })).toHaveLength(120);
        expect(await store.pruning.rows(now_ms, 10)).toBe(10);
        await other.close();
      });
  });

  describe('the retention job', () => {
    const nothing = async () => 0;
    const pruningOf = (rows: Pruning['rows']): Pruning => ({
      rows,
      sums: nothing,
      batches: nothing,
      traffic: nothing,
      hours: nothing,
    });
    beforeEach(() => {
      lines = [];
    });

    it('leaves the database to others between two steps, four times as long as a step took', async () => {
      const [clock, waits]: [FakeClock, number[]] = [new FakeClock(now_ms), []];
      const took_ms = [15, 2, 9];
      const rows = async () => {
        clock.advance(took_ms.shift()!);
        return took_ms.length;
      };
      const wait = async (ms: number) => void waits.push(ms);
      await retentionOf({ pruning: pruningOf(rows), clock, wait }, { rows_ms: day_ms }).run();
      expect(waits).toEqual([60, 20]);
    });

    it('starts by itself and repeats every hour, until it is closed', async () => {
      const [clock, waits, seen]: [FakeClock, number[], number[]] = [new FakeClock(now_ms), [], []];
      const job = retentionOf(
        {
          pruning: pruningOf(async before_ms => seen.push(before_ms) * 0),
          clock,
          first_ms: 1,
          wait: async ms => {
            waits.push(ms);
            clock.advance(ms);
            if (waits.length === 3) void job.close();
          },
        },
        { rows_ms: day_ms },
      );
      await job.start();
      expect(waits).toEqual([1, 3_600_000, 3_600_000]);
      expect(seen).toEqual([1, 3_600_001].map(ms => now_ms - day_ms + ms));
    });

    it('logs a failure and tries again later', async () => {
      const rows = () => Promise.reject(new Error('closed'));
      await retentionOf({ pruning: pruningOf(rows) }, { rows_ms: day_ms }).run();
      expect(lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('retrying later') }]);
    });
  });
});
