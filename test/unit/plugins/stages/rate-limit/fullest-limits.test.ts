import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Plan } from '../../../../../src/gateway/limits/plan-limits.ts';
import { MemoryStateStore } from '../../../../../src/mount/state/counters/memory-state-store.ts';
import { pluginMetrics } from '../../../../../src/telemetry/metric-factory.ts';
import { LimitedStage, ownLimits } from './limited-stage.ts';

let registry: Registry;
beforeEach(() => {
  registry = new Registry();
});

const limitedBy = (plan: Plan | undefined, more: ConstructorParameters<typeof LimitedStage>[1] = {}) =>
  new LimitedStage(plan, { metrics: pluginMetrics(registry, 'rate-limit', 'sluice_limit_'), ...more });

/** The gauge by account and limit, in the order of the scrape. */
async function used(): Promise<Record<string, number>> {
  const { values } = await registry.getSingleMetric('sluice_limit_used_ratio')!.get();
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels.account} ${labels.limit}`, value]));
}

describe('the gauge of the fullest limits', () => {
  it('shows limits of which half is used, and forgets them when their window has passed', async () => {
    const limited = limitedBy({ requests_per_minute: 4, tokens_per_day: 1_000_000 });
    await limited.admitted();
    expect(await used()).toEqual({});
    await limited.admitted();
    expect(await used()).toEqual({ 'a requests_per_minute': 0.5 });
    await limited.admitted();
    expect(await used()).toEqual({ 'a requests_per_minute': 0.75 });
    limited.clock.advance(61_000);
    expect(await used()).toEqual({});
  });

  it('shows of all keys of an account the fullest one, under a name of its own', async () => {
    const limited = limitedBy({ requests_per_minute: 100 });
    const keyed = (key_id: string) => ({
      id: 'a',
      plan: 'tested',
      key_id,
      key_limits: { requests_per_minute: 4 },
    });
    const [one, other] = [keyed('key_one'), keyed('key_other')];
    for (const account of [one, one, one, other, other]) await limited.admitted({}, account);
    expect(await used()).toEqual({ 'a key.requests_per_minute': 0.75 });
  });

  it('shows 1 for a minute after a refusal, though the rest would be enough for others', async () => {
    const limited = limitedBy({ tokens_per_day: 1000 });
    limited.settle(await limited.admitted(), 600, 100);
    await limited.refused({ messages: [{ role: 'user', content: 'many words '.repeat(1000) }] });
    expect(await used()).toEqual({ 'a tokens_per_day': 1 });
    limited.clock.advance(60_000);
    expect(await used()).toEqual({ 'a tokens_per_day': expect.closeTo(0.7, 5) });
  });

  it('shows 1 for what a dry run would have refused', async () => {
    const limited = limitedBy({ requests_per_minute: 1 }, { options: { dry_run: true } });
    for (let at = 0; at < 2; at++) await limited.admitted();
    expect(await used()).toEqual({ 'a requests_per_minute': 1 });
  });

  it('shows the concurrency of this moment', async () => {
    const limited = limitedBy({ concurrent_requests: 2 });
    const exchange = await limited.admitted();
    expect(await used()).toEqual({ 'a concurrent_requests': 0.5 });
    limited.settle(exchange);
    expect(await used()).toEqual({});
  });

  it('shows concurrency for a minute where the store does not know when it ended', async () => {
    class Forgetful extends MemoryStateStore {
      override knownStatuses = () => [];
    }
    const limited = limitedBy({ concurrent_requests: 2 }, { state: clock => new Forgetful(clock) });
    await limited.admitted();
    limited.clock.advance(59_999);
    expect(await used()).toEqual({ 'a concurrent_requests': 0.5 });
    limited.clock.advance(1);
    expect(await used()).toEqual({});
  });

  it('names a limit on a single model as the other metrics do, and shows the fullest of them', async () => {
    const model = 'v/one';
    const limits = { requests_per_minute: 4, models: { [model]: { requests_per_minute: 2 } } };
    const limited = limitedBy(undefined);
    await limited.admitted({ model }, ownLimits(limits));
    expect(await used()).toEqual({ 'a requests_per_minute': 0.5 });
    await limited.admitted({ model }, ownLimits(limits));
    expect(await used()).toEqual({ 'a requests_per_minute': 1 });
  });

  it('shows the fullest twenty of many accounts, fullest first', async () => {
    const limited = limitedBy(undefined);
    for (let at = 0; at < 500; at++) {
      // All are half used; every twentieth is full.
      const max = at % 20 === 0 ? 1 : 2;
      await limited.admitted(
        {},
        { id: `account-${at}`, plan: undefined, limits: { requests_per_minute: max } },
      );
    }
    const shown = await used();
    expect(Object.values(shown)).toEqual(Array(20).fill(1));
  });

  it('shows requests without an account as one account, and nothing once the stage is closed', async () => {
    const limited = limitedBy(undefined, { options: { limits: { requests_per_minute: 1 } } });
    const exchange = limited.exchange();
    exchange.account = undefined;
    await limited.reserve(exchange);
    expect(await used()).toEqual({ '_none requests_per_minute': 1 });
    await limited.stage.close!();
    expect(await used()).toEqual({});
  });
});
