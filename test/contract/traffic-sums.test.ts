import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openRecords, type RecordsStore } from '../../plugins/stores/records/records-store.ts';
import type { RecordsTarget } from '../../plugins/stores/records/records-target.ts';
import type { TrafficRange } from '../../plugins/stores/records/traffic-records.ts';
import {
  duration_bounds_ms,
  first_token_bounds_ms,
  trafficSteps,
} from '../../plugins/stores/records/traffic-sums.ts';
import { errorClasses } from '../../src/common/end-class.ts';
import { timeOrderedUuid } from '../../src/common/ids.ts';
import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

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
      attempt({ outcome: 'failed', kind: 'unreachable', first_token_ms: null, duration_ms: null }),
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

const targets = recordsTargets();

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
    expect(backup!.first_tokens).toEqual([...at(50), 0]);
    expect(local!.first_tokens).toEqual([...at(150), 0]);
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
        return points.map(({ at_ms, name, requests, first_tokens }) => [at_ms, name, requests, first_tokens]);
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

  it('count every attempt of a provider at the time at which it began', async () => {
    const sums = await store.traffic.attempts(range());
    expect(sums.map(({ durations: _, ...sum }) => sum)).toEqual([
      { provider: 'backup', outcome: 'completed', kind: '', attempts: 1 },
      { provider: 'local', outcome: 'completed', kind: '', attempts: 2 },
      { provider: 'local', outcome: 'failed', kind: 'timeout', attempts: 2 },
      { provider: 'local', outcome: 'failed', kind: 'unreachable', attempts: 1 },
    ]);
    const first = await store.traffic.attempts(range({ until_ms: start_ms + minute_ms }));
    expect(first.find(({ kind }) => kind === 'timeout')).toMatchObject({ attempts: 1 });
  });

  it('are pruned, each step when it is not shown any longer', async () => {
    const now_ms = start_ms + 8 * hour_ms;
    let pruned = 0;
    for (let deleted = -1; deleted !== 0; pruned += deleted)
      deleted = (await store.pruning.traffic(now_ms, 2)) as number;
    expect(pruned).toBeGreaterThan(8);
    expect(await store.traffic.points(range(), 'provider')).toEqual([]);
    expect(await store.traffic.attempts(range())).toEqual([]);
    const hours = range({ step_ms: hour_ms, point_ms: hour_ms });
    expect(await store.traffic.points(hours, 'error_type')).toHaveLength(4);
    expect(await store.pruning.traffic(now_ms + 33 * 24 * hour_ms, 100)).toBeGreaterThan(5);
    expect(await store.traffic.attempts(hours)).not.toEqual([]);
    while ((await store.pruning.traffic(now_ms + 33 * 24 * hour_ms, 100)) !== 0);
    expect(await store.traffic.attempts(hours)).toEqual([]);
  });
});
