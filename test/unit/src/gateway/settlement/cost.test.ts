import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { RunningUsage } from '../../../../../src/gateway/exchange/exchange-view.ts';
import { costOf } from '../../../../../src/gateway/settlement/cost.ts';

const usage = (prompt_tokens: number, completion_tokens: number, cached_tokens = 0): RunningUsage => ({
  prompt_tokens,
  completion_tokens,
  cached_tokens,
  completion_details: undefined,
  estimated: false,
});

const large = { prompt: '0.000003', completion: '0.000006', input_cache_read: '0.00000075' };

describe('the cost of an exchange', () => {
  it.each([
    [usage(0, 0), large, '0'],
    [usage(1, 0), large, '0.000003'],
    [usage(1_000_000, 1_000_000), large, '9'],
    [usage(12, 9, 4), large, '0.000081'],
    [usage(3, 0, 3), large, '0.00000225'],
    [usage(10, 1), { prompt: '1', completion: '0.10' }, '10.1'],
    [usage(10, 1, 5), { prompt: '2', completion: '3' }, '23'],
  ])('is exact: %j at %j is %s', (used, pricing, expected) => {
    expect(costOf(used, pricing)).toBe(expected);
  });

  it.each([
    ['its own price', { ...large, input_cache_write: '0.00000375' }, '0.00008025'],
    ["the prompt's without one", large, '0.000078'],
  ])('has tokens written to the cache at %s', (_, pricing, expected) => {
    expect(costOf({ ...usage(24, 7, 16), cache_creation_tokens: 3 }, pricing)).toBe(expected);
  });

  it.each([
    [{ ...large, web_search: '0.01' }, 2, '0.020003'],
    [large, 2, '0.000003'],
    [{ ...large, web_search: '0.01' }, 0.5, '0.000003'],
  ])('has searches at their own price: %j for %d is %s', (pricing, web_search_requests, expected) => {
    expect(costOf({ ...usage(1, 0), completion_details: { web_search_requests } }, pricing)).toBe(expected);
  });

  it('never counts more tokens as written to the cache than the rest of the prompt has', () => {
    const pricing = { ...large, input_cache_write: '0.00000375' };
    expect(costOf({ ...usage(10, 0, 8), cache_creation_tokens: 5 }, pricing)).toBe('0.0000135');
  });

  it('has no error of binary fractions, where a sum of doubles would', () => {
    expect(3 * 0.1).not.toBe(0.3);
    expect(costOf(usage(3, 0), { prompt: '0.1', completion: '0' })).toBe('0.3');
  });

  it('is additive: the costs of parts sum to the cost of the whole', () => {
    const tokens = fc.integer({ min: 0, max: 10_000_000 });
    const inBillionths = (cost: string) => {
      const [whole = '0', fraction = ''] = cost.split('.');
      return BigInt(whole + fraction.padEnd(9, '0'));
    };
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (p1, c1, p2, c2) => {
        const parts = inBillionths(costOf(usage(p1, c1), large)) + inBillionths(costOf(usage(p2, c2), large));
        expect(inBillionths(costOf(usage(p1 + p2, c1 + c2), large))).toBe(parts);
      }),
    );
  });

  it('never counts more tokens as cached than the prompt has', () => {
    expect(costOf(usage(2, 0, 5), large)).toBe('0.0000015');
  });
});
