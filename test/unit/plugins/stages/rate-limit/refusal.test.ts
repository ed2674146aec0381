import { describe, expect, it } from '@jest/globals';
import type { Plan } from '../../../../../src/gateway/limits/plan-limits.ts';
import type { StateStore } from '../../../../../src/gateway/limits/state-store.ts';
import { MemoryStateStore } from '../../../../../src/mount/state/counters/memory-state-store.ts';
import { LimitedStage } from './limited-stage.ts';

const evening_ms = Date.UTC(2026, 10, 21, 15, 36, 29);

const model = 'aion-labs/aion-3.5';

describe('a rate limit rejection (3.8)', () => {
  it.each<[string, Plan, string, object]>([
    [
      'requests per minute',
      { requests_per_minute: 1 },
      'Rate limit exceeded: 1 request per minute. Retry in 7 seconds.',
      { 'retry-after': '7', 'retry-after-ms': '7000' },
    ],
    [
      'tokens per minute',
      { tokens_per_minute: 20_000 },
      'Rate limit exceeded: 20000 tokens per minute. Retry in 7 seconds.',
      { 'retry-after': '7', 'retry-after-ms': '7000' },
    ],
    [
      'tokens per day',
      { tokens_per_day: 20_000 },
      'Daily token limit exceeded. Resets at 00:00 UTC.',
      { 'retry-after': '30158', 'x-should-retry': 'false' },
    ],
    [
      'money per month',
      { usd_per_month: { limit: '0.01', hard: false } },
      'Monthly spending limit exceeded. Resets on 2026-12-01 at 00:00 UTC.',
      { 'retry-after': '807758', 'x-should-retry': 'false' },
    ],
    [
      'requests per minute of one model',
      { requests_per_minute: 100, models: { [model]: { requests_per_minute: 1 } } },
      `Rate limit exceeded: 1 request per minute for ${model}. Retry in 7 seconds.`,
      { 'retry-after': '7', 'retry-after-ms': '7000' },
    ],
    [
      'tokens per day of one model',
      { tokens_per_day: 100_000, models: { [model]: { tokens_per_day: 20_000 } } },
      `Daily token limit exceeded for ${model}. Resets at 00:00 UTC.`,
      { 'retry-after': '30158', 'x-should-retry': 'false' },
    ],
  ])('names the limit and its reset for %s', async (_, plan, message, headers) => {
    const limited = new LimitedStage(plan, { began_ms: evening_ms });
    limited.settle(await limited.admitted(), 10, 30_000);
    limited.clock.advance(53_000);
    const { error } = await limited.refused();
    expect(error).toMatchObject({ message, status: 429, type: 'rate_limit_error' });
    expect(error.headers).toEqual(headers);
  });

  it('gives no reset time for concurrent requests', async () => {
    const limited = new LimitedStage({ concurrent_requests: 2 });
    for (let at = 0; at < 2; at++) await limited.admitted();
    const { error } = await limited.refused();
    expect(error.message).toBe('Rate limit exceeded: 2 concurrent requests. Retry when one has ended.');
    expect(error.headers).toEqual({ 'retry-after': '1', 'retry-after-ms': '1000' });
  });

  it('uses the singular for one second', async () => {
    const limited = new LimitedStage({ requests_per_minute: 2 });
    for (let at = 0; at < 2; at++) await limited.admitted();
    limited.clock.advance(59_400);
    const { error } = await limited.refused();
    expect(error.message).toBe('Rate limit exceeded: 2 requests per minute. Retry in 1 second.');
    expect(error.headers).toMatchObject({ 'retry-after': '1', 'retry-after-ms': '600' });
  });

  it('names the limit with the longest wait, checking those before the body first', async () => {
    const limited = new LimitedStage({
      requests_per_minute: 2,
      concurrent_requests: 2,
      tokens_per_minute: 600,
      tokens_per_day: 600,
    });
    await limited.admitted();
    expect((await limited.refused()).error.message).toMatch(/^Daily token limit exceeded/);
    expect((await limited.refused()).error.message).toMatch(/^Rate limit exceeded: 2 requests per minute/);
  });

  it('reports the remaining limits, whichever limit rejected', async () => {
    const limited = new LimitedStage({ requests_per_minute: 15, concurrent_requests: 1 });
    await limited.admitted();
    const { exchange } = await limited.refused();
    expect(exchange.replyHeaders).toEqual({
      'x-ratelimit-limit-requests': '15',
      'x-ratelimit-remaining-requests': '14',
      'x-ratelimit-reset-requests': '1m0s',
    });
  });
});

describe('a request that does not fit into a hard limit', () => {
  // A token of a completion costs 0.000006 dollars, one of a prompt 0.000003; 'Hello?' is reserved as 82 tokens.
  const plan: Plan = { usd_per_month: '0.05' };
  const asking = (max_tokens: number, more = {}) => ({ max_tokens, ...more });

  it('is told what would be reserved, which max_tokens fits, and to wait for running requests', async () => {
    const limited = new LimitedStage(plan, { began_ms: evening_ms });
    const first = await limited.admitted(asking(6000));
    const { error } = await limited.refused(asking(2500));
    expect(error.message).toBe(
      'Rate limit exceeded: with max_tokens 2500 this request may cost $0.01525, more than is left of the monthly spending limit. Send max_tokens of at most 2251. Retry when running requests have ended.',
    );
    expect(error.headers).toEqual({ 'retry-after': '1', 'retry-after-ms': '1000' });
    // What fits does, and what has ended has given back.
    await limited.admitted(asking(2251));
    await limited.refused(asking(1));
    limited.settle(first, 10, 10);
    await limited.admitted(asking(2500));
  });

  it('is told when the limit resets where nothing is running', async () => {
    const limited = new LimitedStage(plan, { began_ms: evening_ms });
    limited.settle(await limited.admitted(asking(7000)), 10, 7000);
    const { error } = await limited.refused({ max_tokens: 1000, n: 2 });
    expect(error.message).toBe(
      'Rate limit exceeded: with max_tokens 1000 and n 2 this request may cost $0.01225, more than is left of the monthly spending limit. Send max_tokens of at most 643. Resets on 2026-12-01 at 00:00 UTC.',
    );
    expect(error.headers).toMatchObject({ 'x-should-retry': 'false' });
  });

  it('is not retried when it is above the whole limit, and asks no store', async () => {
    let asked = 0;
    const limited = new LimitedStage(
      { tokens_per_day: { limit: 5000, hard: true } },
      {
        state: clock => {
          const memory = new MemoryStateStore(clock);
          return {
            reserve(request) {
              asked++;
              return memory.reserve(request);
            },
            statuses: async (account, limits) => memory.statuses(account, limits),
            knownStatuses: (account, limits) => memory.statuses(account, limits),
            close: () => memory.close(),
          } satisfies StateStore;
        },
      },
    );
    const { error } = await limited.refused();
    expect(error).toMatchObject({
      status: 429,
      limit: 'tokens_per_day',
      message:
        'Rate limit exceeded: without max_tokens this request may use 32850 tokens, more than the daily token limit. Send max_tokens of at most 4918.',
      headers: { 'x-should-retry': 'false' },
    });
    expect(asked).toBe(0);
  });

  it('is admitted by a dry run, which reports the limit as over', async () => {
    const limited = new LimitedStage(plan, { options: { dry_run: true } });
    const exchange = await limited.admitted(asking(10_000));
    expect(exchange.replyHeaders['x-ratelimit-dry-run']).toBe('usd_per_month');
  });
});
