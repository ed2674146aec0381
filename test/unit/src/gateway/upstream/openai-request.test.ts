import { describe, expect, it } from '@jest/globals';
import type { Message } from '../../../../../src/gateway/exchange/canonical.ts';
import { encodeOpenAi } from '../../../../../src/gateway/upstream/openai/openai-format.ts';
import type { OpenAiMessageForm } from '../../../../../src/gateway/upstream/openai/openai-messages.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

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

describe('the messages of a request to an OpenAI server', () => {
  const target = { model: 'inner', effortMap: {}, extraParameters: [] };
  const call = (id: string) => ({
    id,
    type: 'function' as const,
    function: { name: 'look', arguments: '{}' },
  });
  const called: Message = {
    role: 'assistant',
    content: null,
    reasoning: 'Look twice.',
    reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }],
    tool_calls: [call('a'), call('b')],
  };
  const result = (tool_call_id: string, content: NonNullable<Message['content']>): Message => ({
    role: 'tool',
    tool_call_id,
    content,
  });
  const image = (url: string) => ({ type: 'image_url' as const, image_url: { url } });
  const sent = (messages: Message[], form?: OpenAiMessageForm) =>
    encodeOpenAi(sampleRequest({ messages }), target, form).messages as object[];

  it('have reasoning under the names that the server reads, and no details', () => {
    const { reasoning, reasoning_details, ...plain } = called;
    expect(sent([called])).toEqual([{ ...plain, reasoning_content: reasoning }]);
    expect(sent([called], { reasoningNames: ['reasoning', 'reasoning_content'] })).toEqual([
      { ...plain, reasoning, reasoning_content: reasoning },
    ]);
    expect(
      sent([called], { reasoningNames: ['reasoning'], reasoningDetails: () => reasoning_details }),
    ).toEqual([called]);
    expect(sent([{ ...plain, reasoning_details: reasoning_details! }])).toEqual([plain]);
  });

  it('have results without the mark of a failure', () => {
    expect(sent([{ ...result('a', 'No.'), is_error: true }])).toEqual([result('a', 'No.')]);
  });

  it('have the images of tool results in a message of the user after all results', () => {
    const shown: Message = { role: 'user', content: [image('https://example.com/a.png')] };
    const text = (words: string) => ({ type: 'text' as const, text: words });
    const { reasoning, reasoning_details, ...plain } = called;
    expect(
      sent([
        shown,
        plain,
        result('a', [text('A cat.'), image('https://example.com/b.png')]),
        result('b', [image('https://example.com/c.png')]),
        { role: 'assistant', content: 'Two cats.' },
        plain,
        result('a', 'Nothing.'),
        result('b', [image('https://example.com/d.png')]),
      ]),
    ).toEqual([
      shown,
      plain,
      result('a', [text('A cat.')]),
      result('b', ''),
      {
        role: 'user',
        content: [
          text('Images in the result of a:'),
          image('https://example.com/b.png'),
          text('Images in the result of b:'),
          image('https://example.com/c.png'),
        ],
      },
      { role: 'assistant', content: 'Two cats.' },
      plain,
      result('a', 'Nothing.'),
      result('b', ''),
      { role: 'user', content: [text('Images in the result of b:'), image('https://example.com/d.png')] },
    ]);
  });
});
