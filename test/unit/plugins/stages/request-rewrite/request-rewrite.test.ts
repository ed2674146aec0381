import { describe, expect, it } from '@jest/globals';
import { requestRewrite } from '../../../../../plugins/stages/request-rewrite/index.ts';
import type { ChatRequest } from '../../../../../src/canonical.ts';
import type { Model } from '../../../../../src/catalog/catalog.ts';
import { encodeOpenAi } from '../../../../../src/upstream/openai/openai-format.ts';
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

  it('is said explicitly when it was left out', () => {
    expect(rewritten({}).reasoning_effort).toBe('high');
    expect(rewritten({ reasoning_effort: 'low' }).reasoning_effort).toBe('low');
  });

  it('is not sent to a model that knows none', () => {
    for (const request of [{}, { reasoning_effort: 'medium' }])
      expect(rewritten(request, { reasoning_effort: unsupported })).not.toHaveProperty('reasoning_effort');
  });
});

describe('what goes upstream', () => {
  it('has no choice among no tools', () => {
    const parameters = () => ({ tool_choice: 'auto', parallel_tool_calls: false, top_p: 1 });
    expect(rewritten({ parameters: parameters() }).parameters).toEqual({ top_p: 1 });
    const tools = [{ type: 'function' as const, function: { name: 'roll' } }];
    expect(rewritten({ tools, parameters: parameters() }).parameters).toEqual(parameters());
  });

  it('has metadata only where that is wanted', () => {
    const metadata = { a: 'b' };
    expect(encodeOpenAi(rewritten({ metadata }), target)).not.toHaveProperty('metadata');
    expect(encodeOpenAi(rewritten({ metadata }, {}, { forward_metadata: true }), target)).toMatchObject({
      metadata,
    });
  });

  it("has configured parameters where the client gave none, never in place of the client's", () => {
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

  it('cannot be another model or conversation by configuration', () => {
    const set = { model: 'other', messages: [], stream: true };
    expect(encodeOpenAi(rewritten({}, {}, { set }), target)).toEqual(encodeOpenAi(rewritten({}), target));
  });
});
