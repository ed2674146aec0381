import { describe, expect, it } from '@jest/globals';
import { chatRequest } from '../../../../../../src/gateway/dialects/chat-completions/chat-request.ts';
import type { ChatRequest } from '../../../../../../src/gateway/exchange/canonical.ts';
import { chatOf } from '../renderings.ts';

const messages = [{ role: 'user', content: 'Hello' }];
const parse = (fields: object): ChatRequest => chatOf().parse({ model: 'a/b', messages, ...fields });
const message = (given: object) => parse({ messages: [...messages, given] }).messages[1];
const call = { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{}' } };
const newer = { field_names: { max_tokens: 'max_completion_tokens' } };

describe('the parser of chat requests', () => {
  it('accepts the required fields alone, and reads null as absent', () => {
    expect(parse({})).toEqual({ model: 'a/b', messages, stream: false, parameters: {}, unknown: {} });
    const optional = [...Object.keys(chatRequest.shape), 'other'].filter(
      name => !/^(model|messages)$/.test(name),
    );
    expect(optional.length).toBeGreaterThan(25);
    expect(parse(Object.fromEntries(optional.map(name => [name, null])))).toEqual(parse({}));
    const nothing = { name: null, tool_calls: null, tool_call_id: null, reasoning: null, refusal: null };
    expect(message({ role: 'user', content: 'a', ...nothing })).toEqual({ role: 'user', content: 'a' });
    expect(parse({ stream: true, stream_options: { include_usage: null } }).stream_options).toEqual({});
  });

  it.each<[object, Partial<ChatRequest>]>([
    [
      { max_tokens: 5, max_completion_tokens: 7 },
      { max_tokens: 7, client: newer },
    ],
    [{ max_completion_tokens: 7 }, { max_tokens: 7, client: newer }],
    [{ stop: 'END' }, { stop: ['END'] }],
    [{ stop: [] }, {}],
    [
      { stream: true, stream_options: { continuous_usage_stats: true } },
      { stream: true, stream_options: { continuous_usage_stats: true } },
    ],
    [
      { stream: true, stream_options: { include_obfuscation: false, odd: 1 } },
      { stream: true, stream_options: {}, unknown: { 'stream_options.odd': 1 } },
    ],
    [{ stream_options: {} }, { stream_options: {} }],
    [
      { reasoning_effort: 'low', reasoning_split: false },
      { reasoning_effort: 'low', reasoning_split: false },
    ],
    [{ top_k: 5, chat_template: 'x', off: false }, { unknown: { top_k: 5, chat_template: 'x', off: false } }],
    [{ functions: [], modalities: ['text'] }, {}],
    [{ other: [], messages: [{ ...messages[0], annotations: [] }] }, {}],
    [{ metadata: { a: 'b' } }, { metadata: { a: 'b' } }],
    [{ metadata: {} }, { metadata: {} }],
  ])('reads %j as %j', (fields, expected) => {
    expect(parse(fields)).toEqual({ ...parse({}), ...expected });
  });

  it.each<[object, object]>([
    [
      { role: 'developer', content: 'a' },
      { role: 'system', content: 'a' },
    ],
    [
      { role: 'assistant', tool_calls: [call] },
      { role: 'assistant', content: null, tool_calls: [call] },
    ],
    [
      { role: 'assistant', content: 'a', reasoning: 'b', refusal: null },
      { role: 'assistant', content: 'a', reasoning: 'b' },
    ],
    [
      { role: 'assistant', content: '', reasoning_content: 'b' },
      { role: 'assistant', content: '', reasoning: 'b' },
    ],
    [
      { role: 'assistant', content: 'a', reasoning: '', reasoning_content: 'b' },
      { role: 'assistant', content: 'a', reasoning: 'b' },
    ],
    [
      { role: 'assistant', content: 'a', reasoning_details: [{ type: 'x', data: 's' }] },
      { role: 'assistant', content: 'a', reasoning_details: [{ type: 'x', data: 's' }] },
    ],
    [
      { role: 'assistant', refusal: 'no', tool_calls: [call] },
      { role: 'assistant', content: null, tool_calls: [call] },
    ],
    [
      { role: 'assistant', content: null, refusal: 'no' },
      { role: 'assistant', content: 'no' },
    ],
    [
      {
        role: 'user',
        content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: null } }],
      },
      { role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] },
    ],
  ])('reads the message %j as %j', (given, expected) => {
    expect(message(given)).toEqual(expected);
  });

  it('sets no prototype', () => {
    const text = `{"model":"a/b","messages":[{"role":"user","content":"a","__proto__":{"x":1}}],
      "__proto__":{"polluted":true},"metadata":{"__proto__":"a"},"logit_bias":{"__proto__":{"x":1}},"constructor":1}`;
    const request = chatOf().parse(JSON.parse(text));
    const { unknown, metadata, messages: said, parameters } = request;
    for (const value of [request, unknown, metadata, said[0], parameters.logit_bias])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(unknown)).toEqual(['__proto__', 'constructor', 'messages.__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
