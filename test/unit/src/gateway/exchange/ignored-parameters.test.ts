import { describe, expect, it } from '@jest/globals';
import {
  ignoredByUpstream,
  ignoreParameters,
} from '../../../../../src/gateway/exchange/ignored-parameters.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

describe('the header x-ignored-parameters', () => {
  it('is absent where nothing is ignored', () => {
    const exchange = sampleExchange({ request: {} });
    ignoreParameters(exchange, []);
    ignoredByUpstream(exchange);
    expect(exchange.replyHeaders).toEqual({});
  });

  it('names a parameter once, from stages and from the upstream', () => {
    const exchange = sampleExchange({ request: {} });
    ignoreParameters(exchange, ['top_k']);
    ignoreParameters(exchange, ['min_p']);
    ignoredByUpstream(exchange, ['top_k', 'seed']);
    expect(exchange.replyHeaders).toEqual({ 'x-ignored-parameters': 'top_k, min_p, seed' });
  });

  it('uses the field names of the client', () => {
    const names = { reasoning_effort: 'reasoning.effort', max_tokens: 'max_output_tokens' };
    const exchange = sampleExchange({
      request: { client: { field_names: names }, unknown: { max_tokens: 5 } },
    });
    ignoreParameters(exchange, ['max_tokens']);
    ignoredByUpstream(exchange, ['reasoning_effort', 'seed']);
    expect(exchange.replyHeaders).toEqual({ 'x-ignored-parameters': 'max_tokens, reasoning.effort, seed' });
  });

  it('names what the last upstream ignored, not those before it', () => {
    const exchange = sampleExchange({ request: {} });
    ignoredByUpstream(exchange, ['seed']);
    ignoredByUpstream(exchange, ['logprobs']);
    expect(exchange.replyHeaders).toEqual({ 'x-ignored-parameters': 'logprobs' });
    ignoredByUpstream(exchange);
    expect(exchange.replyHeaders).toEqual({});
  });
});
