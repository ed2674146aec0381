import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Plan } from '../../../../../src/gateway/limits/plan-limits.ts';
import { pluginMetrics } from '../../../../../src/telemetry/metric-factory.ts';
import { LimitedStage } from './limited-stage.ts';

const friday_ms = Date.UTC(2026, 10, 27, 20, 36, 29);

describe('the refusal of a budget', () => {
  it.each<[string, Plan, string, object]>([
    [
      'day in a zone',
      { tokens_per_day: { limit: 20_000, time_zone: 'Asia/Kolkata' } },
      'Daily token limit exceeded. Resets at 00:00 Asia/Kolkata.',
      { 'retry-after': '78811', 'x-should-retry': 'false' },
    ],
    [
      'week from a day on',
      { tokens_per_week: { limit: 20_000, time_zone: 'Europe/Berlin', start_day: 'sunday' } },
      'Weekly token limit exceeded. Resets on 2026-11-29 at 00:00 Europe/Berlin.',
      { 'retry-after': '95011', 'x-should-retry': 'false' },
    ],
    [
      'month from a day on',
      { tokens_per_month: { limit: 20_000, start_day: 15 } },
      'Monthly token limit exceeded. Resets on 2026-12-15 at 00:00 UTC.',
      { 'retry-after': '1481011', 'x-should-retry': 'false' },
    ],
    [
      'total',
      { tokens_total: 20_000 },
      'Total token limit exceeded. It does not reset.',
      { 'x-should-retry': 'false' },
    ],
  ])('names its reset for a %s', async (_, plan, message, headers) => {
    const limited = new LimitedStage(plan, { began_ms: friday_ms });
    limited.settle(await limited.admitted(), 10, 30_000);
    const { error } = await limited.refused();
    expect(error).toMatchObject({ message, status: 429, type: 'rate_limit_error' });
    expect(error.headers).toEqual(headers);
  });
});

describe('headers of budgets', () => {
  const shownBy = async (plan: Plan) => {
    const limited = new LimitedStage(plan, { began_ms: friday_ms, options: { ietf_headers: true } });
    const exchange = await limited.admitted();
    return exchange.replyHeaders;
  };

  it('show no soft limit, which clients would keep to', async () => {
    const plan = { requests_per_day: { limit: 1, soft: true }, requests_per_minute: 10 };
    expect(await shownBy(plan)).toEqual({
      'x-ratelimit-limit-requests': '10',
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': '1m0s',
      'ratelimit-policy': '"rpm";q=10;w=60',
      ratelimit: '"rpm";r=9;t=60',
    });
  });

  it('show a week with its length, and a total without a reset', async () => {
    const plan = { tokens_per_week: 5000, tokens_total: 1000 };
    const headers = await shownBy(plan);
    expect(headers['x-ratelimit-limit-tokens']).toBe('5000');
    expect(headers['ratelimit-policy']).toBe(
      '"tokens-week";q=5000;qu="tokens";w=604800, "tokens-total";q=1000;qu="tokens"',
    );
    expect(headers.ratelimit).toMatch(/^"tokens-week";r=\d+;t=\d+, "tokens-total";r=\d+$/);
  });
});

describe('a soft limit', () => {
  it('refuses nothing, counts what is over it, and is in the log once', async () => {
    const registry = new Registry();
    const metrics = pluginMetrics(registry, 'rate-limit', 'sluice_limit_');
    const limited = new LimitedStage(
      { requests_per_month: { limit: 2, soft: true }, usd_total: { limit: '0.000001', soft: true } },
      { metrics },
    );
    for (let at = 0; at < 5; at++) limited.settle(await limited.admitted(), 1000, 1000, { cost_usd: '1' });
    const { values } = await registry.getSingleMetric('sluice_limit_decisions_total')!.get();
    const counts = values.map(({ labels, value }) => [`${labels.limit} ${labels.decision}`, value]);
    expect(Object.fromEntries(counts)).toEqual({
      'requests_per_month admitted': 1,
      'requests_per_month refused': 0,
      'requests_per_month over': 4,
      'usd_total admitted': 0,
      'usd_total refused': 0,
      'usd_total over': 5,
    });
  });
});

describe('a raise', () => {
  it('begins and ends by itself, and what was used in it stays used', async () => {
    const until = new Date(friday_ms + 60_000).toISOString();
    const plan = { requests_per_day: { limit: 1, raised: { limit: 3, until } } };
    const limited = new LimitedStage(plan, { began_ms: friday_ms });
    const account = { id: 'a', plan: 'tested' };
    for (let at = 0; at < 2; at++) limited.settle(await limited.admitted({}, account));
    limited.clock.advance(60_000);
    expect((await limited.refused({}, account)).error.message).toBe(
      'Daily request limit exceeded. Resets at 00:00 UTC.',
    );
    limited.clock.set(86_400_000);
    limited.settle(await limited.admitted({}, account));
    await limited.refused({}, account);
  });

  it('holds for those without a plan as well', async () => {
    const until = new Date(friday_ms + 60_000).toISOString();
    const limits = { requests_per_day: { limit: 1, raised: { limit: 3, until } } };
    const limited = new LimitedStage(undefined, { began_ms: friday_ms, options: { limits } });
    const account = { id: 'b', plan: undefined };
    for (let at = 0; at < 2; at++) limited.settle(await limited.admitted({}, account));
    limited.clock.advance(60_000);
    await limited.refused({}, account);
  });
});
