import { describe, expect, it } from '@jest/globals';
import type { ChatRequest } from '../../../../../src/canonical.ts';
import { chatCompletions } from '../../../../../src/dialects/chat-completions/index.ts';

const dialect = chatCompletions.create({ reasoning_key: 'reasoning' }, { models: [] });

const messages = [{ role: 'user', content: 'Hello' }];
const parse = (fields: object): ChatRequest => dialect.parse({ model: 'a/b', messages, ...fields });
const message = (given: object) => parse({ messages: [...messages, given] }).messages[1];
const call = { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{}' } };
const tool = { type: 'function' as const, function: { name: 'roll', parameters: { type: 'object' } } };

describe('the parser of chat requests', () => {
  it('accepts the required fields alone', () => {
    expect(parse({})).toEqual({ model: 'a/b', messages, stream: false, parameters: {}, unknown: {} });
  });

  it('treats null as absent for every optional field', () => {
    const optional = [
      'temperature',
      'max_tokens',
      'max_completion_tokens',
      'stop',
      'stream',
      'stream_options',
      'tools',
      'n',
      'reasoning_effort',
      'reasoning_split',
      'metadata',
      'top_p',
      'seed',
      'presence_penalty',
      'frequency_penalty',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'response_format',
      'tool_choice',
      'parallel_tool_calls',
      'user',
      'other',
    ];
    expect(parse(Object.fromEntries(optional.map(name => [name, null])))).toEqual(parse({}));
    expect(message({ role: 'user', content: 'a', name: null, tool_calls: null, tool_call_id: null })).toEqual(
      {
        role: 'user',
        content: 'a',
      },
    );
    expect(parse({ stream: true, stream_options: { include_usage: null } }).stream_options).toEqual({});
  });

  it.each<[string, object, Partial<ChatRequest>]>([
    ['values at their lower bounds', { temperature: 0, max_tokens: 1 }, { temperature: 0, max_tokens: 1 }],
    ['a value at its upper bound', { temperature: 2 }, { temperature: 2 }],
    [
      'max_completion_tokens before max_tokens',
      { max_tokens: 5, max_completion_tokens: 7 },
      { max_tokens: 7, client: { field_names: { max_tokens: 'max_completion_tokens' } } },
    ],
    [
      'max_completion_tokens alone',
      { max_completion_tokens: 7 },
      { max_tokens: 7, client: { field_names: { max_tokens: 'max_completion_tokens' } } },
    ],
    ['one stop sequence', { stop: '\n' }, { stop: ['\n'] }],
    [
      'more than four stop sequences',
      { stop: ['a', 'b', 'c', 'd', 'e'] },
      { stop: ['a', 'b', 'c', 'd', 'e'] },
    ],
    ['an empty list of tools', { tools: [] }, { tools: [] }],
    ['tools with all their fields', { tools: [tool] }, { tools: [tool] }],
    [
      'stream options of a stream',
      { stream: true, stream_options: { continuous_usage_stats: true } },
      {
        stream: true,
        stream_options: { continuous_usage_stats: true },
      },
    ],
    ['empty stream options without a stream', { stream_options: {} }, { stream_options: {} }],
    [
      'forwarded parameters',
      { top_p: 0.9, seed: 7, user: 'me', logit_bias: { 5: -1 } },
      {
        parameters: { top_p: 0.9, seed: 7, user: 'me', logit_bias: { 5: -1 } },
      },
    ],
    [
      'unknown fields, kept apart',
      { top_k: 5, chat_template: 'x' },
      { unknown: { top_k: 5, chat_template: 'x' } },
    ],
    ['metadata, whose values are checked elsewhere', { metadata: { a: 'b' } }, { metadata: { a: 'b' } }],
    ['empty metadata', { metadata: {} }, { metadata: {} }],
  ])('accepts %s', (_, fields, expected) => {
    expect(parse(fields)).toEqual({ ...parse({}), ...expected });
  });

  it.each<[string, object, object]>([
    [
      'the role developer, read as system',
      { role: 'developer', content: 'a' },
      { role: 'system', content: 'a' },
    ],
    [
      'parts, kept as parts',
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
    ],
    ['an empty string', { role: 'user', content: '' }, { role: 'user', content: '' }],
    [
      'tool calls without content',
      { role: 'assistant', tool_calls: [call] },
      { role: 'assistant', content: null, tool_calls: [call] },
    ],
    [
      'tool calls with content',
      { role: 'assistant', content: 'a', tool_calls: [call] },
      { role: 'assistant', content: 'a', tool_calls: [call] },
    ],
    [
      'an answered tool call',
      { role: 'tool', content: '20', tool_call_id: 'call_1' },
      { role: 'tool', content: '20', tool_call_id: 'call_1' },
    ],
    ['a name', { role: 'user', content: 'a', name: 'Ann' }, { role: 'user', content: 'a', name: 'Ann' }],
    [
      "a client's copy of our reply",
      { role: 'assistant', content: 'a', reasoning: 'b', refusal: null },
      { role: 'assistant', content: 'a', reasoning: 'b' },
    ],
    [
      'reasoning under its older name',
      { role: 'assistant', content: '', reasoning_content: 'b' },
      { role: 'assistant', content: '', reasoning: 'b' },
    ],
    [
      'signed reasoning',
      { role: 'assistant', content: 'a', reasoning_details: [{ type: 'reasoning.text', signature: 's' }] },
      { role: 'assistant', content: 'a', reasoning_details: [{ type: 'reasoning.text', signature: 's' }] },
    ],
    [
      'a refusal in place of content',
      { role: 'assistant', content: null, refusal: 'no' },
      { role: 'assistant', content: 'no' },
    ],
    [
      'an image',
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] },
    ],
    [
      'a cache mark',
      {
        role: 'user',
        content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: null } }],
      },
      { role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] },
    ],
  ])('accepts a message with %s', (_, given, expected) => {
    expect(message(given)).toEqual(expected);
  });
});

describe('a hostile body', () => {
  it('cannot set a prototype', () => {
    const text = `{"model":"a/b","messages":[{"role":"user","content":"a","__proto__":{"x":1}}],
      "__proto__":{"polluted":true},"metadata":{"__proto__":"a"},"logit_bias":{"__proto__":{"x":1}},"constructor":1}`;
    const request = dialect.parse(JSON.parse(text));
    for (const value of [
      request,
      request.unknown,
      request.metadata,
      request.messages[0],
      request.parameters.logit_bias,
    ])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(request.unknown)).toEqual(['__proto__', 'constructor', 'messages.__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
