import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';
import type { Adapter, Target, UpstreamRequest } from '../../../../../src/gateway/upstream/adapter.ts';
import { adapterOf } from '../../../../support/provider-fixtures.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

/** A model that has a thinking budget, with the cap of the example catalog. */
export const budgeted: Target = {
  model: 'claude-sonnet-4-5',
  effortMap: {},
  extraParameters: [],
  maxTokens: 32_768,
};
/** A model that thinks adaptively. */
export const adaptive: Target = { ...budgeted, model: 'claude-opus-5' };

/** What is sent for `request`, to a server that remembers nothing unless an adapter is given. */
export function encoded(
  request: Partial<ChatRequest>,
  target: Target = budgeted,
  options: object | Adapter = {},
): UpstreamRequest {
  const adapter = 'encode' in options ? (options as Adapter) : adapterOf('anthropic', options);
  return adapter.encode(sampleRequest(request), target);
}

export const bodyOf = (...args: Parameters<typeof encoded>) => encoded(...args).body;
