import { describe, expect, it } from '@jest/globals';
import { ignoredByUpstream, ignoreParameters } from '../../../src/ignored-parameters.ts';
import { sampleExchange } from '../sample-exchange.ts';

describe('what is ignored (m5)', () => {
  it('is said nothing of where there is nothing', () => {
    const exchange = sampleExchange();
    ignoreParameters(exchange, []);
    ignoredByUpstream(exchange);
    expect(exchange.replyHeaders).toEqual({});
  });

  it('is named once, by stages and by the upstream', () => {
    const exchange = sampleExchange();
    ignoreParameters(exchange, ['top_k']);
    ignoreParameters(exchange, ['min_p']);
    ignoredByUpstream(exchange, ['top_k', 'seed']);
    expect(exchange.replyHeaders).toEqual({ 'x-ignored-parameters': 'top_k, min_p, seed' });
  });

  it('is what the last upstream ignored, not those before it', () => {
    const exchange = sampleExchange();
    ignoredByUpstream(exchange, ['seed']);
    ignoredByUpstream(exchange, ['logprobs']);
    expect(exchange.replyHeaders).toEqual({ 'x-ignored-parameters': 'logprobs' });
    ignoredByUpstream(exchange);
    expect(exchange.replyHeaders).toEqual({});
  });
});
