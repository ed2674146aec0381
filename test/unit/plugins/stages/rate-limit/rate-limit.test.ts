import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { estimatePromptTokens } from '../../../../../plugins/stages/rate-limit/request-charge.ts';
import type { Account } from '../../../../../src/gateway/accounts/accounts.ts';
import { Catalog } from '../../../../../src/gateway/catalog/catalog.ts';
import type { Plan } from '../../../../../src/gateway/limits/plan-limits.ts';
import type { StateStore } from '../../../../../src/gateway/limits/state-store.ts';
import { outcomeOf } from '../../../../../src/gateway/settlement/settle.ts';
import { MemoryStateStore } from '../../../../../src/mount/state/counters/memory-state-store.ts';
import { pluginMetrics } from '../../../../../src/telemetry/metric-factory.ts';
import type { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange, sampleRequest } from '../../../sample-exchange.ts';
import { LimitedStage, ownLimits } from './limited-stage.ts';

const plan = { requests_per_minute: 10, tokens_per_minute: 10_000 };

/** An exchange under way whose body is passed on unread. */
const unread = (limited: LimitedStage) => {
  const start = { endpoint: { name: 'passthrough' as const, public: false }, clock: limited.clock };
  const exchange = sampleExchange({ start });
  exchange.account = { id: 'a', plan: 'tested' };
  limited.stage.onHeaders!(exchange);
  exchange.beginAttempt();
  return exchange;
};

/** A store in memory that puts the names of the limits of every take into `taken`. */
const noting = (taken: string[][]) => (clock: FakeClock) => {
  const store = new MemoryStateStore(clock);
  const reserve = store.reserve.bind(store);
  store.reserve = request => {
    taken.push(request.limits.map(({ name }) => name));
    return reserve(request);
  };
  return store;
};

describe('a rate-limited exchange', () => {
  it('is admitted synchronously when the state is in memory', () => {
    const limited = new LimitedStage(plan);
    const exchange = limited.exchange();
    expect(limited.stage.onHeaders!(exchange)).toBeUndefined();
    expect(limited.stage.onRequest!(exchange)).toBeUndefined();
  });

  it('reserves one request and its expected tokens, and settles the actual use', async () => {
    const limited = new LimitedStage(plan);
    const exchange = await limited.admitted();
    const { requests, tokens } = await limited.remaining();
    expect(requests).toBe(9);
    expect(tokens).toBeLessThan(10_000 - 500);
    limited.settle(exchange, 40, 60);
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 9900 });
  });

  it('settles what it reserved before its account was known', async () => {
    const limits = { concurrent_requests: 1, requests_per_minute: 10 };
    const limited = new LimitedStage(plan, { options: { limits } });
    const unknown = () => {
      const exchange = limited.exchange();
      exchange.account = undefined;
      return exchange;
    };
    const exchange = unknown();
    await limited.stage.onHeaders!(exchange);
    expect(() => limited.stage.onHeaders!(unknown())).toThrow('1 concurrent request.');
    exchange.account = { id: 'a', plan: 'tested' };
    await limited.stage.onRequest!(exchange);
    limited.settle(exchange, 40, 60);
    await limited.stage.onHeaders!(unknown());
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 9900 });
  });

  it('goes into debt when it uses more, which blocks further requests until the debt has left', async () => {
    const limited = new LimitedStage(plan);
    limited.settle(await limited.admitted(), 1000, 30_000);
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 0 });
    await limited.refused();
    limited.clock.advance(60_000);
    await limited.admitted();
  });

  const billed = [20, 30] as const;
  it.each<[string, object, requests: number, tokens: number, used?: readonly [number, number]]>([
    ['with a failure of the upstream', { status: 502, error_type: 'provider_error' }, 0, 0],
    ['with a failure of the gateway', { status: 502, error_type: 'server_error' }, 0, 0],
    ['with a configuration error', { status: 400, error_type: 'configuration_error' }, 0, 0],
    ['with an error reply of a handler', { status: 503, error_type: undefined }, 0, 0],
    ['whose stream broke before its first token', { status: 200, error_type: 'provider_error' }, 0, 0],
    ['rejected for its size', { status: 413, error_type: 'invalid_request_error', attempts: [] }, 1, 0],
    ['rejected for its content', { status: 400, error_type: 'invalid_request_error', attempts: [] }, 1, 0],
    ['that times out and is billed', { status: 524, error_type: 'timeout_error' }, 1, 0],
    ['that loses its client', { status: 0, end_reason: 'client_gone', attempts: [] }, 1, 0],
    ['that fails after billable use', { status: 200, error_type: 'provider_error' }, 1, 50, billed],
  ])('%s (%j) counts as %i requests and %i tokens', async (_, end, requests, tokens, used = [0, 0]) => {
    const limited = new LimitedStage(plan);
    limited.settle(await limited.admitted(), ...used, end);
    expect(await limited.remaining()).toEqual({ requests: 10 - requests, tokens: 10_000 - tokens });
  });

  it('counts as one request and frees its concurrency when its tokens are rejected', async () => {
    const limited = new LimitedStage({ ...plan, tokens_per_minute: 600, concurrent_requests: 2 });
    await limited.admitted();
    const { error, exchange } = await limited.refused();
    expect(error.message).toMatch(/^Rate limit exceeded: 600 tokens per minute/);
    expect(exchange.replyHeaders['x-ratelimit-remaining-requests']).toBe('8');
    limited.settle(exchange, 0, 0, { status: 429, error_type: 'rate_limit_error' });
    expect((await limited.remaining()).requests).toBe(8);
    const next = limited.exchange();
    expect(limited.stage.onHeaders!(next)).toBeUndefined();
  });

  it('settles nothing after a rejection', async () => {
    const limited = new LimitedStage({ requests_per_minute: 1 });
    await limited.admitted();
    const { exchange } = await limited.refused();
    limited.settle(exchange);
    expect((await limited.remaining()).requests).toBe(0);
  });

  it('teaches the forecast what completions use, so that more run at a time', async () => {
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

  it.each([
    [12, 'learns from completions of several choices that ended below the cap of each', 9],
    [20, 'learns nothing from completions of several choices that were all cut short', 500],
  ])('with %i tokens %s', async (completion_tokens, _, expected) => {
    const limited = new LimitedStage({ tokens_per_minute: 10_000 });
    limited.settle(await limited.admitted({ n: 2, max_tokens: 10 }), 0, completion_tokens);
    const { tokens: before } = await limited.remaining();
    await limited.admitted();
    const { tokens: after } = await limited.remaining();
    const prompt = estimatePromptTokens(sampleRequest());
    expect(before! - after!).toBe(prompt + expected);
  });

  it('corrects underestimated prompts, unless the count of the upstream is an estimate too', async () => {
    const limited = new LimitedStage({ tokens_per_minute: 10_000 });
    const prompt = estimatePromptTokens(sampleRequest());
    const counted = await limited.admitted();
    limited.settle(counted, 4 * prompt, 0);
    const estimated = await limited.admitted();
    const usage = { ...outcomeOf(estimated).usage, prompt_tokens: 4 * prompt, estimated: true };
    limited.settle(estimated, 0, 0, { usage });
    const { tokens: before } = await limited.remaining();
    await limited.admitted();
    const { tokens: after } = await limited.remaining();
    // An eighth of the way to four times as much.
    expect(before! - after!).toBe(Math.ceil(prompt * (1 + 3 / 8)) + 500);
  });

  it('is reserved and settled by each of two rate-limit stages', async () => {
    const first = new LimitedStage({ concurrent_requests: 1 });
    const second = new LimitedStage({ concurrent_requests: 1 });
    const exchange = await first.admitted();
    await second.reserve(exchange);
    for (const limited of [first, second]) await limited.refused();
    for (const limited of [first, second]) limited.settle(exchange);
    for (const limited of [first, second]) await limited.admitted();
  });

  it('takes one request and nothing more when its body is passed on unread', async () => {
    const limited = new LimitedStage({ ...plan, concurrent_requests: 1 });
    const exchange = unread(limited);
    await limited.refused();
    limited.settle(exchange);
    expect(await limited.remaining()).toEqual({ requests: 9, tokens: 10_000 });
    await limited.admitted();
  });

  it('reserves what recent ones have used when its body is passed on unread', async () => {
    const limited = new LimitedStage({ ...plan, usd_per_month: '1.5' });
    for (let at = 0; at < 3; at++) limited.settle(unread(limited), 2000, 0, { cost_usd: '0.3' });
    expect((await limited.remaining()).tokens).toBe(4000);
    // Two more do not fit under the limit on money.
    const running = unread(limited);
    expect((await limited.remaining()).tokens).toBeLessThan(2000);
    expect(() => unread(limited)).toThrow('Monthly spending limit exceeded');
    limited.settle(running, 0, 0);
    expect((await limited.remaining()).tokens).toBe(4000);
  });

  it('reserves its request and its concurrency before its body is read, and neither again after', async () => {
    const limited = new LimitedStage({ requests_per_minute: 2, concurrent_requests: 2 });
    const exchange = limited.exchange();
    await limited.stage.onHeaders!(exchange);
    expect((await limited.remaining()).requests).toBe(1);
    await limited.stage.onRequest!(exchange);
    expect((await limited.remaining()).requests).toBe(1);
    await limited.stage.onHeaders!(limited.exchange());
    expect(() => limited.stage.onHeaders!(limited.exchange())).toThrow(/^Rate limit exceeded: 2 requests/);
  });

  it('reserves tokens, money and the limits on its model with its request', async () => {
    const model = 'aion-labs/aion-3.5';
    const limits = { requests_per_minute: 5, concurrent_requests: 5 };
    for (const late of [
      { tokens_per_minute: 600 },
      { usd_per_month: { limit: '0.01', hard: false } },
      { models: { [model]: limits } },
    ]) {
      const taken: string[][] = [];
      const limited = new LimitedStage({ ...limits, ...late }, { state: noting(taken) });
      await limited.admitted();
      const [first, second] = taken;
      expect(taken).toHaveLength(2);
      expect(first).toEqual(['requests_per_minute', 'concurrent_requests']);
      expect(second).toEqual(
        'models' in late ? ['requests_per_minute', 'concurrent_requests'] : Object.keys(late),
      );
    }
  });

  it.each([
    [{ requests_per_minute: 5, concurrent_requests: 5 }],
    [{ tokens_per_minute: 5000, usd_per_month: 5 }],
  ])('asks the store once when only one group is limited: %j', async limits => {
    const taken: string[][] = [];
    const limited = new LimitedStage(limits, { state: noting(taken) });
    await limited.admitted();
    expect(taken).toEqual([Object.keys(limits)]);
  });

  it('reserves everything with its request when its account is found only then', async () => {
    const options = { limits: { requests_per_minute: 9 } };
    const limited = new LimitedStage({ requests_per_minute: 1 }, { options });
    const found = async () => {
      const exchange = limited.exchange();
      const { account } = exchange;
      exchange.account = undefined;
      await limited.stage.onHeaders!(exchange);
      exchange.account = account;
      await limited.stage.onRequest!(exchange);
    };
    await found();
    await expect(found()).rejects.toThrow(/^Rate limit exceeded: 1 request per minute/);
  });
});

describe('the limits of an account', () => {
  const once = { requests_per_minute: 1 };
  const twice = { requests_per_minute: 2 };
  it.each<[string, Plan | undefined, object, Account | undefined, number]>([
    ['are those of its plan, overridden by its own', once, {}, ownLimits(twice, 'tested'), 2],
    ['are its own when it has no plan', undefined, {}, ownLimits(once), 1],
    ['default to those of the stage', plan, { limits: once }, { id: 'b', plan: undefined, limits: {} }, 1],
    ['are not those of the stage when it has a plan', twice, { limits: once }, undefined, 2],
    ['come from the plans of the stage when it has some', plan, { plans: { tested: once } }, undefined, 1],
  ])('%s', async (_, plan, options, account, admitted) => {
    const limited = new LimitedStage(plan, { options });
    for (let at = 0; at < admitted; at++) await limited.admitted({}, account);
    await limited.refused({}, account);
  });

  it('are none without a plan or limits of its own', async () => {
    const limited = new LimitedStage(plan);
    const account = { id: 'free', plan: undefined };
    for (let at = 0; at < 50; at++) {
      const { replyHeaders } = await limited.admitted({}, account);
      expect(replyHeaders).toEqual({});
    }
  });

  it('are one shared set for all requests without an account', async () => {
    const limited = new LimitedStage(plan, { options: { limits: { requests_per_minute: 2 } } });
    const anonymous = () => {
      const exchange = limited.exchange();
      exchange.account = undefined;
      return limited.stage.onHeaders!(exchange);
    };
    anonymous();
    anonymous();
    expect(anonymous).toThrow(/^Rate limit exceeded: 2 requests per minute/);
  });

  it('reject every request when its plan does not exist', async () => {
    const limited = new LimitedStage(plan);
    for (const name of ['gone', 'constructor']) {
      const { error } = await limited.refused({}, { id: 'b', plan: name });
      expect(error).toMatchObject({
        status: 400,
        type: 'configuration_error',
        message: 'This account is not available because of a server-side configuration error.',
      });
      expect(error.cause).toBe(`account 'b' has the plan '${name}', which is not configured`);
    }
  });

  it('fail chain creation when they need a catalog and there is none', () => {
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

  it('reject the account when they need a catalog and there is none', async () => {
    const limited = new LimitedStage(plan, { catalog: new Catalog([]) });
    const { error } = await limited.refused({}, ownLimits({ usd_per_month: 5 }));
    expect(error).toMatchObject({ status: 400, type: 'configuration_error' });
  });

  it('are harmless when they name a model that the catalog no longer has', async () => {
    const limited = new LimitedStage(plan);
    await limited.admitted({}, ownLimits({ models: { 'a/gone': { tokens_per_day: 5 } } }));
  });
});

describe('an error before the rate limit', () => {
  it('reports no limits without an account or before the store has answered', () => {
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
    reserve: async request => memory.reserve(request),
    statuses: async (account, limits) => memory.statuses(account, limits),
    knownStatuses: () => [],
    close: () => memory.close(),
  };
};

describe('an asynchronous state store', () => {
  it('admits, rejects and settles like one in memory', async () => {
    const limited = new LimitedStage({ requests_per_minute: 2, concurrent_requests: 1 }, { state: asking });
    const exchange = await limited.admitted();
    expect(exchange.replyHeaders['x-ratelimit-remaining-requests']).toBe('1');
    expect((await limited.refused()).error.message).toMatch(/1 concurrent request\./);
    limited.settle(exchange);
    await limited.admitted();
  });

  it('passes its failure on instead of answering 429', async () => {
    const broken = {
      reserve: async () => Promise.reject(new Error('broken')),
      statuses: async () => [],
      knownStatuses: () => [],
      close: async () => {},
    };
    const limited = new LimitedStage(plan, { state: () => broken });
    const { error } = await limited.refused();
    expect(error).toMatchObject({ message: 'broken' });
  });
});

describe('a dry run of rate limits', () => {
  it('rejects nothing, counts everything, and names the limits that would have rejected', async () => {
    const limits = { requests_per_minute: 2, tokens_per_day: 100 };
    const limited = new LimitedStage(limits, { options: { dry_run: true } });
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

  it('names a limit of all models and of one only once', async () => {
    const limits = { requests_per_minute: 1 };
    const plan = { ...limits, models: { 'aion-labs/aion-3.5': limits } };
    const limited = new LimitedStage(plan, { options: { dry_run: true } });
    await limited.admitted();
    const { replyHeaders } = await limited.admitted();
    expect(replyHeaders['x-ratelimit-dry-run']).toBe('requests_per_minute');
  });
});

describe('rate limit metrics', () => {
  it('count decisions by limit and report what remains as shares', async () => {
    const registry = new Registry();
    const metrics = pluginMetrics(registry, 'rate-limit', 'sluice_limit_');
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
