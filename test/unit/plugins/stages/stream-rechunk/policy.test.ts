import { describe, expect, it } from '@jest/globals';
import { policyOf, policySchema } from '../../../../../plugins/stages/stream-rechunk/policy.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const policies = policySchema.parse({
  coalesce_characters: 10,
  classes: [
    { when: { plan: 'free' }, coalesce_characters: 80, coalesce_ms: 100 },
    { when: { model: ['aion-labs/aion-3.5', 'other/model'], continuous_usage: true } },
    { when: { account: 'acme' }, split_characters: 5 },
  ],
});

const exchangeOf = (account: { id: string; plan?: string }, continuous_usage_stats: boolean) => {
  const exchange = sampleExchange({ request: { stream: true, stream_options: { continuous_usage_stats } } });
  exchange.account = { id: account.id, plan: account.plan };
  return exchange;
};

describe('the rechunk policy of a request', () => {
  it.each<[string, { id: string; plan?: string }, boolean, [number, number, number]]>([
    ['its plan', { id: 'a', plan: 'free' }, false, [80, 100, 0]],
    ['the first match', { id: 'acme', plan: 'free' }, true, [80, 100, 0]],
    ['all conditions together', { id: 'acme' }, true, [0, 50, 0]],
    ['its account', { id: 'acme' }, false, [0, 50, 5]],
    ['the default of the stage without a match', { id: 'b' }, false, [10, 50, 0]],
  ])('is chosen by %s', (_, account, continuous, [coalesce_characters, coalesce_ms, split_characters]) => {
    const expected = { coalesce_characters, coalesce_ms, split_characters };
    expect(policyOf(policies, exchangeOf(account, continuous))).toMatchObject(expected);
  });

  it('rejects splitting below the size it coalesces to', () => {
    expect(policySchema.safeParse({ coalesce_characters: 10, split_characters: 5 }).success).toBe(false);
    expect(policySchema.safeParse({ coalesce_characters: 10, split_characters: 10 }).success).toBe(true);
  });
});
