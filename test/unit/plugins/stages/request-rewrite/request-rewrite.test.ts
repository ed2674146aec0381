import { describe, expect, it } from '@jest/globals';
import { requestRewrite } from '../../../../../plugins/stages/request-rewrite/index.ts';
import type { Model } from '../../../../../src/gateway/catalog/catalog.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';
import { encodeOpenAi } from '../../../../../src/gateway/upstream/openai/openai-format.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

function rewritten(request: Partial<ChatRequest>, model: Partial<Model> = {}, options = {}): ChatRequest {
  const exchange = sampleExchange({ request, model });
  requestRewrite(options).plan.create(sampleSetup()).onRequest!(exchange);
  return exchange.request;
}
const target = { model: 'm', effortMap: {}, extraParameters: [] };

describe('reasoning_effort (g)', () => {
  const unsupported = { supported: false, levels: [], default: null };

  it('is set to the default when the client leaves it out', () => {
    expect(rewritten({}).reasoning_effort).toBe('high');
    expect(rewritten({ reasoning_effort: 'low' }).reasoning_effort).toBe('low');
  });

  it('is dropped for a model that supports none', () => {
    for (const request of [{}, { reasoning_effort: 'medium' }])
      expect(rewritten(request, { reasoning_effort: unsupported })).not.toHaveProperty('reasoning_effort');
  });
});

describe('the request sent upstream', () => {
  it('drops tool_choice when there are no tools', () => {
    const parameters = () => ({ tool_choice: 'auto', parallel_tool_calls: false, top_p: 1 });
    expect(rewritten({ parameters: parameters() }).parameters).toEqual({ top_p: 1 });
    const tools = [{ type: 'function' as const, function: { name: 'roll' } }];
    expect(rewritten({ tools, parameters: parameters() }).parameters).toEqual(parameters());
  });

  it('carries metadata only when configured', () => {
    const metadata = { a: 'b' };
    expect(encodeOpenAi(rewritten({ metadata }), target)).not.toHaveProperty('metadata');
    expect(encodeOpenAi(rewritten({ metadata }, {}, { forward_metadata: true }), target)).toMatchObject({
      metadata,
    });
  });

  it('takes configured parameters only where the client gave none', () => {
    const set = { temperature: 0.6, max_tokens: 100, top_p: 0.95, top_k: 40 };
    const sent = (request: Partial<ChatRequest>) => encodeOpenAi(rewritten(request, {}, { set }), target);
    expect(sent({})).toMatchObject(set);
    expect(sent({ temperature: 0, max_tokens: 5, parameters: { top_p: 0 } })).toMatchObject({
      temperature: 0,
      max_tokens: 5,
      top_p: 0,
      top_k: 40,
    });
  });

  it('keeps its model and its conversation whatever is configured', () => {
    const set = { model: 'other', messages: [], stream: true };
    expect(encodeOpenAi(rewritten({}, {}, { set }), target)).toEqual(encodeOpenAi(rewritten({}), target));
  });
});
