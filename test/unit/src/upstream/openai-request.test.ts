import { describe, expect, it } from '@jest/globals';
import { encodeOpenAi } from '../../../../src/upstream/openai/openai-format.ts';
import { sampleRequest } from '../../sample-exchange.ts';

describe('a request to an OpenAI server', () => {
  const target = { model: 'inner-name', effortMap: {}, extraParameters: ['top_k', 'missing'] };

  it('has the model name of the upstream, and no field that was not given', () => {
    const request = sampleRequest();
    expect(encodeOpenAi(request, target)).toEqual({ model: 'inner-name', messages: request.messages });
  });

  it('has all forwarded fields, and none that stays in the gateway (m5, g)', () => {
    const tools = [{ type: 'function' as const, function: { name: 'roll' } }];
    const request = sampleRequest({
      stream: true,
      temperature: 0,
      max_tokens: 5,
      stop: ['\n'],
      tools,
      n: 2,
      stream_options: { include_usage: true },
      reasoning_effort: 'high',
      reasoning_split: false,
      metadata: { a: 'b' },
      parameters: { top_p: 0.5, seed: 7 },
      unknown: { top_k: 40, chat_template: 'x', priority: 1 },
    });
    expect(encodeOpenAi(request, target)).toEqual({
      model: 'inner-name',
      messages: request.messages,
      stream: true,
      temperature: 0,
      max_tokens: 5,
      stop: ['\n'],
      tools,
      n: 2,
      top_p: 0.5,
      seed: 7,
      top_k: 40,
    });
  });

  it('has no empty list of tools, which some servers reject', () => {
    expect(encodeOpenAi(sampleRequest({ tools: [] }), target)).not.toHaveProperty('tools');
  });
});
