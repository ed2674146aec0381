import { describe, expect, it } from '@jest/globals';
import {
  addIetfHeaders,
  addRateHeaders,
  duration,
  retryHeaders,
} from '../../../../../plugins/stages/rate-limit/rate-limit-headers.ts';
import type { LimitName } from '../../../../../src/gateway/limits/limit-table.ts';
import type { LimitStatus } from '../../../../../src/gateway/limits/state-store.ts';

const standing = (
  name: LimitName,
  max: number,
  remaining: number,
  reset_ms: number,
  model?: string,
): LimitStatus => ({ limit: { name, max, model }, remaining, reset_ms });

const headersOf = (...statuses: LimitStatus[]) => {
  const headers: Record<string, string> = {};
  addRateHeaders(headers, statuses);
  return headers;
};

describe('the duration format of rate limit headers', () => {
  it.each([
    [0, '0s'],
    [0.2, '1ms'],
    [250, '250ms'],
    [999, '999ms'],
    [999.5, '1s'],
    [1000, '1s'],
    [1001, '2s'],
    [59_000, '59s'],
    [60_000, '1m0s'],
    [360_000, '6m0s'],
    [3_599_001, '1h0m0s'],
    [86_340_999, '23h59m1s'],
    [10 * 86_400_000, '240h0m0s'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});

describe('x-ratelimit headers', () => {
  it('report requests and tokens', () => {
    expect(
      headersOf(
        standing('requests_per_minute', 15, 14, 60_000),
        standing('tokens_per_minute', 20_000, 19_400, 250),
        standing('concurrent_requests', 4, 3, 0),
        standing('usd_per_month', 5_000_000_000, 1, 1),
      ),
    ).toEqual({
      'x-ratelimit-limit-requests': '15',
      'x-ratelimit-remaining-requests': '14',
      'x-ratelimit-reset-requests': '1m0s',
      'x-ratelimit-limit-tokens': '20000',
      'x-ratelimit-remaining-tokens': '19400',
      'x-ratelimit-reset-tokens': '250ms',
    });
  });

  it('report the limit with the smallest remaining share, the first of equals', () => {
    const minute = standing('tokens_per_minute', 20_000, 5000, 9000);
    expect(headersOf(minute, standing('tokens_per_day', 20_000, 4999, 30_211_000))).toEqual({
      'x-ratelimit-limit-tokens': '20000',
      'x-ratelimit-remaining-tokens': '4999',
      'x-ratelimit-reset-tokens': '8h23m31s',
    });
    expect(headersOf(minute, standing('tokens_per_day', 90_000, 6000, 8_000_000))).toEqual({
      'x-ratelimit-limit-tokens': '90000',
      'x-ratelimit-remaining-tokens': '6000',
      'x-ratelimit-reset-tokens': '2h13m20s',
    });
    expect(headersOf(minute, standing('tokens_per_day', 40_000, 10_000, 1))).toMatchObject({
      'x-ratelimit-limit-tokens': '20000',
    });
    expect(
      headersOf(
        standing('requests_per_minute', 50, 20, 1000),
        standing('requests_per_minute', 3, 1, 1000, 'a/large'),
      ),
    ).toMatchObject({ 'x-ratelimit-limit-requests': '3', 'x-ratelimit-remaining-requests': '1' });
  });

  it('report the limit that rejected, whatever remains of the others', () => {
    const minute = standing('tokens_per_minute', 20_000, 0, 9000);
    const day = standing('tokens_per_day', 50_000, 300, 30_211_000);
    for (const order of [
      [minute, day],
      [day, minute],
    ]) {
      const headers = {};
      addRateHeaders(headers, order, day.limit);
      expect(headers).toEqual({
        'x-ratelimit-limit-tokens': '50000',
        'x-ratelimit-remaining-tokens': '300',
        'x-ratelimit-reset-tokens': '8h23m31s',
      });
    }
  });

  it('are left out when nothing of the kind is limited', () => {
    expect(headersOf(standing('concurrent_requests', 4, 3, 0))).toEqual({});
    expect(headersOf()).toEqual({});
  });
});

describe('retry headers', () => {
  it.each([
    [1, { 'retry-after': '1', 'retry-after-ms': '1' }],
    [7000, { 'retry-after': '7', 'retry-after-ms': '7000' }],
    [7001, { 'retry-after': '8', 'retry-after-ms': '7001' }],
    [60_000, { 'retry-after': '60', 'retry-after-ms': '60000' }],
    [60_001, { 'retry-after': '61', 'x-should-retry': 'false' }],
    [30_210_500, { 'retry-after': '30211', 'x-should-retry': 'false' }],
  ])('ask for a retry in %d ms', (ms, headers) => {
    expect(retryHeaders(ms)).toEqual(headers);
  });
});

describe('RateLimit headers of the IETF draft', () => {
  it('name every limit except money, and list limits per model separately', () => {
    const headers: Record<string, string> = {};
    addIetfHeaders(headers, [
      standing('requests_per_minute', 15, 14, 59_001),
      standing('tokens_per_minute', 20_000, 0, 7000),
      standing('tokens_per_day', 50_000, 100, 30_211_000),
      standing('concurrent_requests', 4, 3, 0),
      standing('usd_per_month', 5_000_000_000, 1, 1),
      standing('requests_per_minute', 3, 3, 0, 'a/large'),
    ]);
    expect(headers).toEqual({
      'ratelimit-policy':
        '"rpm";q=15;w=60, "tpm";q=20000;qu="tokens";w=60, "tpd";q=50000;qu="tokens";w=86400, "concurrency";q=4;qu="concurrent-requests", "rpm-model";q=3;w=60',
      ratelimit: '"rpm";r=14;t=60, "tpm";r=0;t=7, "tpd";r=100;t=30211, "concurrency";r=3, "rpm-model";r=3',
    });
  });

  it('are left out without a limit', () => {
    const headers = {};
    addIetfHeaders(headers, [standing('usd_per_month', 1, 1, 1)]);
    expect(headers).toEqual({});
  });
});
