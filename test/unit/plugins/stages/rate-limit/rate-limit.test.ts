import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { Catalog } from '../../../../../src/catalog/catalog.ts';
import { MemoryStateStore } from '../../../../../src/stores/state/memory.ts';
import type { StateStore } from '../../../../../src/stores/state/state-store.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import type { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { LimitedStage, ownLimits } from './limited-stage.ts';

const plan = { requests_per_minute: 10, tokens_per_minute: 10_000 };

describe('an exchange', () => {
  it('is admitted without a promise where the state is in memory', () => {
    const limited = new LimitedStage(plan);
    expect(limited.stage.onRequest!(limited.exchange())).toBeUndefined();
  });

  it('takes a request and what it will probably use, and settles what it did', async () => {
    const limited = new LimitedStage(plan);
    const exchange = await limited.admitted();
    const { requests, tokens } = await limited.remaining();
    expect(requests).toBe(9);
    expect(tokens).toBeLessThan(10_000 - 500);
    limited.settle(exchange, 40, 60);
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 9900 });
  });

  it('that used more goes into debt, and further ones are refused until it has left', async () => {
    const limited = new LimitedStage(plan);
    limited.settle(await limited.admitted(), 1000, 30_000);
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 0 });
    await limited.refused();
    limited.clock.advance(60_000);
    await limited.admitted();
  });

  it('that failed upstream counts as a request and gives its tokens back', async () => {
    const limited = new LimitedStage(plan);
    limited.settle(await limited.admitted(), 0, 0, { status: 502, end_reason: 'upstream_failed' });
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 10_000 });
  });

  it('for which no upstream was asked gives its request back, too', async () => {
    const limited = new LimitedStage(plan);
    const exchange = await limited.admitted();
    exchange.attempts = 0;
    limited.settle(exchange);
    expect(await limited.remaining()).toEqual({ requests: 10, tokens: 10_000 });
  });

  it('that was refused settles nothing', async () => {
    const limited = new LimitedStage({ requests_per_minute: 1 });
    await limited.admitted();
    const { exchange } = await limited.refused();
    limited.settle(exchange);
    expect((await limited.remaining()).requests).toBe(0);
  });

  it('learns what completions use, so that more are admitted at a time', async () => {
    const limited = new LimitedStage({ tokens_per_minute: 1000 });
    await limited.admitted();
    await limited.refused();
    limited.clock.advance(60_000);
    const learner = new LimitedStage({ tokens_per_minute: 1000, requests_per_minute: 1000 });
    for (let at = 0; at < 20; at++) {
      learner.settle(await learner.admitted(), 8, 12);
      learner.clock.advance(60_000);
    }
    for (let at = 0; at < 40; at++) await learner.admitted();
  });

  it('that passes two such stages is held and settled by both', async () => {
    const first = new LimitedStage({ concurrent_requests: 1 });
    const second = new LimitedStage({ concurrent_requests: 1 });
    const exchange = await first.admitted();
    await second.stage.onRequest!(exchange);
    for (const limited of [first, second]) await limited.refused();
    for (const limited of [first, second]) limited.settle(exchange);
    for (const limited of [first, second]) await limited.admitted();
  });

  it('that is passed on unread takes a request and nothing more', async () => {
    const limited = new LimitedStage({ ...plan, concurrent_requests: 1 });
    const start = { endpoint: { name: 'passthrough' as const, public: false }, clock: limited.clock };
    const exchange = sampleExchange({ start });
    exchange.account = { id: 'a', plan: 'tested' };
    limited.stage.onHeaders!(exchange);
    exchange.attempts = 1;
    await limited.refused();
    limited.settle(exchange);
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 10_000 });
    await limited.admitted();
  });

  it('of the interface is not asked for before its body is there', async () => {
    const limited = new LimitedStage({ requests_per_minute: 1 });
    const exchange = limited.exchange();
    expect(limited.stage.onHeaders!(exchange)).toBeUndefined();
    await limited.stage.onRequest!(exchange);
  });
});

describe('whose limits', () => {
  it("are the plan's with the account's own in their place", async () => {
    const limited = new LimitedStage({ requests_per_minute: 1 });
    const account = ownLimits({ requests_per_minute: 2 }, 'tested');
    for (let at = 0; at < 2; at++) await limited.admitted({}, account);
    await limited.refused({}, account);
  });

  it("are the account's own without a plan", async () => {
    const limited = new LimitedStage(undefined);
    const account = ownLimits({ requests_per_minute: 1 });
    await limited.admitted({}, account);
    await limited.refused({}, account);
  });

  it('are none without either', async () => {
    const limited = new LimitedStage(plan);
    const account = { id: 'free', plan: undefined };
    for (let at = 0; at < 50; at++) {
      const { replyHeaders } = await limited.admitted({}, account);
      expect(replyHeaders).toEqual({});
    }
  });

  it("are then the stage's, where it has some", async () => {
    const limited = new LimitedStage(plan, { options: { limits: { requests_per_minute: 1 } } });
    for (const id of ['b', 'c']) {
      await limited.admitted({}, { id, plan: undefined });
      await limited.refused({}, { id, plan: undefined, limits: {} });
    }
    await limited.admitted();
    await limited.admitted();
  });

  it('of requests without an account are one set for all of them', async () => {
    const limited = new LimitedStage(plan, { options: { limits: { requests_per_minute: 2 } } });
    const nobody = () => {
      const exchange = limited.exchange();
      exchange.account = undefined;
      return limited.stage.onRequest!(exchange);
    };
    nobody();
    nobody();
    expect(nobody).toThrow(/^Rate limit exceeded: 2 requests per minute/);
  });

  it('of a plan that is not there are no reason to let anyone in', async () => {
    const limited = new LimitedStage(plan);
    for (const name of ['gone', 'constructor']) {
      const { error } = await limited.refused({}, { id: 'b', plan: name });
      expect(error).toMatchObject({
        status: 400,
        type: 'configuration_error',
        message: 'This account is not available because of a server-side configuration error.',
      });
      expect(error.cause).toMatchObject({
        message: `account 'b' has the plan '${name}', which is not configured`,
      });
    }
  });

  it('that could never be reached without a catalog are told when the chain is made', () => {
    const catalog = new Catalog([]);
    for (const [limits, problem] of [
      [{ usd_per_month: 5 }, 'usd_per_month needs the prices of a catalog'],
      [{ models: { 'a/large': { tokens_per_day: 5 } } }, 'limits on single models need a catalog'],
    ] as const) {
      expect(() => new LimitedStage(limits, { catalog })).toThrow(`rate-limit: plans.tested: ${problem}`);
      expect(() => new LimitedStage(undefined, { catalog, options: { limits } })).toThrow(
        `rate-limit: limits: ${problem}`,
      );
    }
    expect(() => new LimitedStage({ models: { 'a/large': { tokens_per_day: 5 } } })).toThrow(
      "rate-limit: plans.tested: there is no model 'a/large' in the catalog",
    );
  });

  it('of an account that could never be reached are no reason to let it in', async () => {
    const limited = new LimitedStage(plan, { catalog: new Catalog([]) });
    const { error } = await limited.refused({}, ownLimits({ usd_per_month: 5 }));
    expect(error).toMatchObject({ status: 400, type: 'configuration_error' });
  });

  it('of an account on a model that the catalog no longer has do no harm', async () => {
    const limited = new LimitedStage(plan);
    await limited.admitted({}, ownLimits({ models: { 'a/gone': { tokens_per_day: 5 } } }));
  });

  it("are the stage's own plans where it has some", async () => {
    const limited = new LimitedStage(plan, { options: { plans: { tested: { requests_per_minute: 1 } } } });
    await limited.admitted();
    await limited.refused();
  });
});

describe('an error before the limits', () => {
  it('tells where the account stands (i1)', async () => {
    const limited = new LimitedStage(plan);
    expect(await limited.remaining()).toEqual({ requests: 10, tokens: 10_000 });
  });

  it('tells nothing without an account, or where the store has heard nothing', () => {
    const limited = new LimitedStage(plan, { state: asking });
    const exchange = limited.exchange();
    limited.stage.onError!(exchange, {} as never);
    exchange.account = undefined;
    limited.stage.onError!(exchange, {} as never);
    expect(exchange.replyHeaders).toEqual({});
  });
});

/** A store that answers with promises, as one elsewhere does. */
const asking = (clock: FakeClock): StateStore => {
  const memory = new MemoryStateStore(clock);
  return {
    take: async request => memory.take(request),
    standings: async (account, limits) => memory.standings(account, limits),
    recall: () => [],
    close: () => memory.close(),
  };
};

describe('a store that has to be asked', () => {
  it('admits, refuses and settles alike', async () => {
    const limited = new LimitedStage({ requests_per_minute: 2, concurrent_requests: 1 }, { state: asking });
    const exchange = await limited.admitted();
    expect(exchange.replyHeaders['x-ratelimit-remaining-requests']).toBe('1');
    expect((await limited.refused()).error.message).toMatch(/1 concurrent request\./);
    limited.settle(exchange);
    await limited.admitted();
  });

  it('that breaks its word refuses nobody with 429', async () => {
    const broken = {
      take: async () => Promise.reject(new Error('broken')),
      standings: async () => [],
      recall: () => [],
      close: async () => {},
    };
    const limited = new LimitedStage(plan, { state: () => broken });
    const { error } = await limited.refused();
    expect(error).toMatchObject({ message: 'broken' });
  });
});

describe('a dry run', () => {
  it('refuses nothing, counts everything, and says which limits would have', async () => {
    const limited = new LimitedStage(
      { requests_per_minute: 2, tokens_per_day: 100 },
      { options: { dry_run: true } },
    );
    const over = [];
    for (let at = 0; at < 4; at++) {
      const exchange = await limited.admitted();
      over.push(exchange.replyHeaders['x-ratelimit-dry-run']);
      expect(exchange.replyHeaders['x-ratelimit-limit-requests']).toBe('2');
      limited.settle(exchange, 30, 30);
    }
    expect(over).toEqual([
      undefined,
      'tokens_per_day',
      'requests_per_minute, tokens_per_day',
      'requests_per_minute, tokens_per_day',
    ]);
    expect(await limited.remaining()).toEqual({ requests: 0, tokens: 0 });
  });
});

describe('the metrics', () => {
  it('count decisions by limit, and what remains as shares', async () => {
    const registry = new Registry();
    const metrics = new Metrics(registry).limits;
    const limits = { requests_per_minute: 2, concurrent_requests: 10 };
    const limited = new LimitedStage(limits, { metrics });
    const dry = new LimitedStage(limits, { metrics, options: { dry_run: true } });
    for (let at = 0; at < 2; at++) await limited.admitted();
    await limited.refused();
    for (let at = 0; at < 3; at++) await dry.admitted();
    const { values } = await registry.getSingleMetric('sluice_limit_decisions_total')!.get();
    const counts = values.map(({ labels, value }) => [`${labels.limit} ${labels.decision}`, value]);
    expect(Object.fromEntries(counts)).toEqual({
      'requests_per_minute admitted': 4,
      'requests_per_minute refused': 1,
      'requests_per_minute over': 1,
      'concurrent_requests admitted': 5,
      'concurrent_requests refused': 0,
      'concurrent_requests over': 0,
    });
    const text = await registry.metrics();
    expect(text).toContain('sluice_limit_headroom_ratio_bucket{le="0.5",limit="requests_per_minute"} 6');
  });
});
