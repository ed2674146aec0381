import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { openPostgres } from '../../plugins/stores/postgres/postgres.ts';
import { migrate } from '../../plugins/stores/records/migrate.ts';
import type { Pruning } from '../../plugins/stores/records/pruning.ts';
import { openRecords, type RecordsStore } from '../../plugins/stores/records/records-store.ts';
import type { RecordsTarget } from '../../plugins/stores/records/records-target.ts';
import { timeOrderedUuid } from '../../src/common/ids.ts';
import { Retention, type RetentionSetup, type RetentionTimes } from '../../src/mount/records/retention.ts';
import { RecordsMetrics } from '../../src/telemetry/records-metrics.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

const day_ms = 86_400_000;
const now_ms = Date.parse('2026-11-20T12:00:00Z');
const never = Number.POSITIVE_INFINITY;

const targets = recordsTargets();

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
  const months = async () => (await store.usage.sum({ by: ['account', 'month'] })).map(({ month }) => month);

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
    const attempts = await store.database.run('SELECT COUNT(*) AS attempts FROM sluice.attempts');
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
    const budgets = await store.usage.budgets(['acme'], '2026-11-20');
    const october = await store.usage.sum({ by: ['day'], from_day: '2026-10-01' });
    await retention({ sums_ms: 32 * day_ms }).run();
    expect(await months()).toEqual(['2026-10', '2026-11']);
    // From October on, to the 20th of November.
    expect((await store.usage.ofKeys(['key_1'], '2026-01-01')).get('key_1')).toMatchObject({ requests: 51 });
    expect(await store.usage.sum({ by: ['day'] })).toEqual(october);
    expect(await store.usage.budgets(['acme'], '2026-11-20')).toEqual(budgets);
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
