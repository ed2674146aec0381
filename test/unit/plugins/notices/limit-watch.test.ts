import { describe, expect, it } from '@jest/globals';
import { LimitWatch } from '../../../../plugins/notices/limit-watch.ts';
import { memoryPlace } from '../../../../plugins/stores/records/index.ts';
import type { Plan } from '../../../../src/gateway/limits/plan-limits.ts';
import { AccountLimits } from '../../../../src/gateway/limits/plan-limits.ts';
import { MemoryStateStore } from '../../../../src/mount/state/counters/memory-state-store.ts';
import { ConfiguredAccounts } from '../../../../src/records/configured-accounts.ts';
import type { RecordsStore } from '../../../../src/records/records-store.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { sampleRow } from '../../src/mount/ledger/sample-row.ts';

const thresholds = [50, 80, 100];
const day_ms = 86_400_000;

/** An account with these limits, at `instances` of a gateway with one state store and one records store. */
async function setting(plan: Plan, instances = 1) {
  const clock = new FakeClock();
  const state = new MemoryStateStore(clock);
  const records = await memoryPlace.open();
  await records.migrate(clock.epoch_ms());
  const configured = new ConfiguredAccounts({ acme: { plan: 'paid', keys: [] } });
  const settings = { plans: { paid: plan }, accounts: {}, stages: [{ name: 'rate-limit', options: {} }] };
  const context = {
    clock,
    state,
    settings,
    configured,
    application: undefined,
    records: { store: records },
  } as never;
  const watches = Array.from({ length: instances }, () => new LimitWatch(context, records.notices!));
  const { all } = new AccountLimits(plan, undefined);
  /** Reserves tokens at `held`, and uses `tokens` of them. */
  const use = (tokens: number, held = tokens, nano_usd = 0) => {
    const charge = { requests: 1, tokens: held, nano_usd };
    const result = state.reserve({ account: 'acme', limits: all, charge });
    for (const watch of watches) watch.active.note([sampleRow({ account: 'acme' })]);
    if (!result.admitted) throw new Error('refused');
    return () => result.reservation.settle({ requests: 1, tokens, nano_usd });
  };
  const look = async () => {
    for (const watch of watches) await watch.look(thresholds);
  };
  return { clock, watches, records, use, look, told: () => toldIn(records) };
}

const toldIn = async ({ notices }: RecordsStore) =>
  (await notices!.list({ limit: 50 })).reverse().map(({ data }) => `${data.limit} ${data.threshold_percent}`);

describe('watching the limits of accounts', () => {
  it('tells each threshold once in a day, and again on the next day', async () => {
    const { use, look, told, clock } = await setting({ tokens_per_day: 1000 });
    for (const tokens of [490, 20, 200, 100, 50, 140]) {
      use(tokens)();
      for (let looks = 0; looks < 3; looks++) await look();
    }
    expect(await told()).toEqual(['tokens_per_day 50', 'tokens_per_day 80', 'tokens_per_day 100']);
    clock.advance(day_ms);
    use(600)();
    for (let looks = 0; looks < 3; looks++) await look();
    expect((await told()).slice(3)).toEqual(['tokens_per_day 50']);
  });

  it('tells the highest of several thresholds that were reached between two looks', async () => {
    const { use, look, told } = await setting({ tokens_per_day: 1000 });
    use(990)();
    await look();
    expect(await told()).toEqual([]);
    await look();
    expect(await told()).toEqual(['tokens_per_day 80']);
  });

  it('tells nothing of what a request has reserved and gives back', async () => {
    const { use, look, told } = await setting({ tokens_per_day: 1000 });
    const settle = use(100, 850);
    await look();
    settle();
    await look();
    await look();
    expect(await told()).toEqual([]);
  });

  it('tells nothing of limits per minute', async () => {
    const { use, look, told } = await setting({ tokens_per_minute: 1000, requests_per_minute: 1 });
    use(990)();
    for (let looks = 0; looks < 3; looks++) await look();
    expect(await told()).toEqual([]);
  });

  it('tells once what several instances see, also after a restart', async () => {
    const { use, look, told, records } = await setting({ tokens_per_day: 1000 }, 3);
    use(850)();
    for (let looks = 0; looks < 3; looks++) await look();
    expect(await told()).toEqual(['tokens_per_day 80']);
    const [notice] = await records.notices!.list({ limit: 1 });
    expect(notice).toMatchObject({
      subject: 'account:acme',
      type: 'limit.threshold_reached',
      data: {
        account: 'acme',
        title: 'Tokens per day',
        used_percent: 85,
        used: 850,
        max: 1000,
        remaining: 150,
        resets_at: '2026-11-22T00:00:00.000Z',
      },
    });
  });

  it('tells that a limit is used up when it refuses requests, with most of it used', async () => {
    const { use, look, told, watches } = await setting({ usd_per_month: 10 });
    const refused = () =>
      watches[0]!.active.note([
        { id: 'x', refusals: [], samples: [sampleRow({ account: 'acme', refused_by: 'usd_per_month' })] },
      ]);
    use(1, 1, 6_000_000_000)();
    refused();
    await look();
    await look();
    expect(await told()).toEqual(['usd_per_month 50']);
    use(1, 1, 3_200_000_000)();
    refused();
    await look();
    await look();
    expect(await told()).toEqual(['usd_per_month 50', 'usd_per_month 100']);
  });

  it('tells a soft limit in total', async () => {
    const { use, look, told, records } = await setting({ usd_total: { limit: 10, soft: true } } as never);
    use(1, 1, 11_000_000_000)();
    for (let looks = 0; looks < 3; looks++) await look();
    expect(await told()).toEqual(['usd_total 100']);
    const [notice] = await records.notices!.list({ limit: 1 });
    expect(notice!.data).toMatchObject({
      soft: true,
      resets_at: null,
      used: '11',
      used_percent: 110,
      max: '10',
    });
  });

  it('looks at no account that was not used', async () => {
    const { use, look, watches } = await setting({ tokens_per_day: 1000 });
    use(100)();
    await look();
    expect(watches[0]!.active.take(10).size).toBe(0);
  });
});
