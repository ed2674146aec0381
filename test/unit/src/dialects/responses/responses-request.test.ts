import { describe, expect, it } from '@jest/globals';
import type { ChatRequest, Message } from '../../../../../src/canonical.ts';
import { responses } from '../../../../../src/dialects/responses/index.ts';

const dialect = responses.create({ reasoning_placement: 'message' }, { models: [] });
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const parse = (fields: object): ChatRequest => dialect.parse({ model: 'a/b', ...fields }, context);
const kept = { placement: 'message' };
const names = { max_tokens: 'max_output_tokens', messages: 'input', response_format: 'text.format' };
const least: ChatRequest = {
  model: 'a/b',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: false,
  parameters: {},
  unknown: {},
  client: { field_names: names, kept },
};

const tool = {
  type: 'function',
  name: 'roll',
  description: 'Rolls.',
  parameters: { type: 'object' },
  strict: true,
};
const chatTool = {
  type: 'function' as const,
  function: { name: 'roll', description: 'Rolls.', parameters: { type: 'object' }, strict: true },
};
const format = { type: 'json_schema', name: 'dice', schema: { type: 'object' }, strict: true };

describe('the parser of Responses requests', () => {
  it('accepts the required fields alone', () => {
    expect(parse({ input: 'Hello' })).toEqual(least);
    const { messages: _, ...own } = names;
    expect(parse({ messages: [{ role: 'user', content: 'Hello' }] })).toEqual({
      ...least,
      client: { field_names: own, kept },
    });
  });

  it('treats null as absent for every optional field', () => {
    const optional = [
      'messages',
      'instructions',
      'temperature',
      'max_output_tokens',
      'stream',
      'stream_options',
      'reasoning_effort',
      'reasoning_split',
      'reasoning',
      'metadata',
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'text',
      'top_p',
      'presence_penalty',
      'frequency_penalty',
      'top_logprobs',
      'user',
      'include',
      'store',
      'truncation',
      'service_tier',
      'max_tool_calls',
      'prompt_cache_key',
      'prompt_cache_retention',
      'safety_identifier',
      'previous_response_id',
      'conversation',
      'prompt',
      'background',
      'other',
    ];
    expect(parse({ input: 'Hello', ...Object.fromEntries(optional.map(name => [name, null])) })).toEqual(
      least,
    );
    expect(parse({ input: 'Hello', reasoning: { effort: null }, text: { format: null } })).toEqual(least);
  });

  it.each<[string, object, Partial<ChatRequest>]>([
    ['max_output_tokens', { max_output_tokens: 1 }, { max_tokens: 1 }],
    ['an effort', { reasoning_effort: 'low' }, { reasoning_effort: 'low' }],
    [
      'the same effort twice',
      { reasoning_effort: 'low', reasoning: { effort: 'low' } },
      { reasoning_effort: 'low' },
    ],
    ['reasoning_split', { reasoning_split: false }, { reasoning_split: false }],
    ['temperature', { temperature: 0 }, { temperature: 0 }],
    ['metadata', { metadata: { a: 'b' } }, { metadata: { a: 'b' } }],
    [
      'stream options, including those of OpenAI',
      { stream: true, stream_options: { continuous_usage_stats: true, include_obfuscation: false } },
      { stream: true, stream_options: { continuous_usage_stats: true } },
    ],
    ['an empty list of tools', { tools: [] }, { tools: [] }],
    ['function tools', { tools: [tool] }, { tools: [chatTool] }],
    [
      'a tool with its name alone',
      { tools: [{ type: 'function', name: 'roll', description: null, parameters: null, strict: null }] },
      { tools: [{ type: 'function', function: { name: 'roll' } }] },
    ],
    ['a mode of tool choice', { tool_choice: 'required' }, { parameters: { tool_choice: 'required' } }],
    [
      'a chosen function',
      { tool_choice: { type: 'function', name: 'roll' } },
      { parameters: { tool_choice: { type: 'function', function: { name: 'roll' } } } },
    ],
    ['plain text', { text: { format: { type: 'text' } } }, {}],
    [
      'JSON',
      { text: { format: { type: 'json_object' } } },
      { parameters: { response_format: { type: 'json_object' } } },
    ],
    [
      'a JSON schema',
      { text: { format } },
      {
        parameters: {
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'dice', schema: { type: 'object' }, strict: true },
          },
        },
      },
    ],
    [
      'forwarded parameters',
      { top_p: 0.5, presence_penalty: 1, frequency_penalty: -1, parallel_tool_calls: false, user: 'me' },
      {
        parameters: {
          top_p: 0.5,
          presence_penalty: 1,
          frequency_penalty: -1,
          parallel_tool_calls: false,
          user: 'me',
        },
      },
    ],
    ['log probabilities', { top_logprobs: 3 }, { parameters: { logprobs: true, top_logprobs: 3 } }],
    [
      'log probabilities by include',
      { include: ['message.output_text.logprobs'] },
      { parameters: { logprobs: true } },
    ],
    [
      'fields without effect, which the response repeats',
      {
        store: true,
        truncation: 'auto',
        background: false,
        service_tier: 'flex',
        max_tool_calls: 3,
        prompt_cache_retention: '24h',
        safety_identifier: 's',
      },
      {
        client: {
          ...least.client,
          echo: {
            truncation: 'auto',
            service_tier: 'flex',
            max_tool_calls: 3,
            safety_identifier: 's',
          },
        },
      },
    ],
    ['a seed', { seed: 7 }, { parameters: { seed: 7 } }],
    [
      'unknown fields, kept apart with their parent field',
      { top_k: 5, reasoning: { summary: 'auto' }, text: { verbosity: 'low' } },
      { unknown: { top_k: 5, 'reasoning.summary': 'auto', 'text.verbosity': 'low' } },
    ],
  ])('accepts %s', (_, fields, expected) => {
    expect(parse({ input: 'Hello', ...fields })).toEqual({ ...least, ...expected });
  });

  it('keeps an OpenAI effort and returns it by that name', () => {
    expect(parse({ input: 'Hello', reasoning: { effort: 'low' } })).toEqual({
      ...least,
      reasoning_effort: 'low',
      client: { field_names: { ...names, reasoning_effort: 'reasoning.effort' }, kept },
    });
  });

  it('puts instructions first and keeps them for the reply', () => {
    const system = { role: 'system', content: 'Be brief.' };
    for (const asked of [{ input: 'Hello' }, { messages: least.messages }]) {
      const { messages, client } = parse({ ...asked, instructions: 'Be brief.' });
      expect(messages).toEqual([system, ...least.messages]);
      expect(client?.echo?.instructions).toBe('Be brief.');
    }
    expect(parse({ input: 'Hello', instructions: '' })).toEqual(least);
  });
});

describe('the parser of input items', () => {
  const messagesOf = (...input: unknown[]): Message[] => parse({ input }).messages;
  const call = (call_id: string, name = 'roll') => ({
    type: 'function_call',
    call_id,
    name,
    arguments: '{}',
  });
  const chatCall = (id: string, name = 'roll') => ({
    id,
    type: 'function' as const,
    function: { name, arguments: '{}' },
  });
  const output = (call_id: string, text: unknown = '17') => ({
    type: 'function_call_output',
    call_id,
    output: text,
  });
  const answer = (id: string, content = '17') => ({ role: 'tool', tool_call_id: id, content });
  const user = { role: 'user', content: 'Roll.' };

  it.each<[string, unknown, object]>([
    ['a message', { role: 'user', content: 'a' }, { role: 'user', content: 'a' }],
    [
      'a message with its type',
      { type: 'message', role: 'user', content: 'a' },
      { role: 'user', content: 'a' },
    ],
    [
      'a message with the keys that clients copy',
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        phase: 'commentary',
        role: 'assistant',
        content: 'a',
      },
      { role: 'assistant', content: 'a' },
    ],
    ['a message of a developer', { role: 'developer', content: 'a' }, { role: 'system', content: 'a' }],
    [
      'a message of one part',
      { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
      { role: 'user', content: 'a' },
    ],
    [
      'a message of several parts',
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'output_text', text: 'b', annotations: [] },
          { type: 'text', text: 'c' },
        ],
      },
      {
        role: 'user',
        content: ['a', 'b', 'c'].map(text => ({ type: 'text', text })),
      },
    ],
    [
      'a reply of the gateway',
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'output_text', text: 'a', annotations: [], logprobs: [] },
        ],
      },
      { role: 'assistant', content: 'a', reasoning: 'Hm.' },
    ],
    [
      'a reply without text',
      { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] },
      { role: 'assistant', content: '', reasoning: 'Hm.' },
    ],
    [
      'a refusal',
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      { role: 'assistant', content: 'No.' },
    ],
    [
      'a message with a name',
      { role: 'user', content: 'a', name: 'Ann' },
      { role: 'user', content: 'a', name: 'Ann' },
    ],
  ])('accepts %s', (_, given, expected) => {
    expect(messagesOf(given)).toEqual([expected]);
  });

  it('joins calls and their outputs into one message with its answers', () => {
    expect(messagesOf(user, call('c1'), call('c2', 'toss'), output('c1'), output('c2', []))).toEqual([
      user,
      { role: 'assistant', content: null, tool_calls: [chatCall('c1'), chatCall('c2', 'toss')] },
      answer('c1'),
      answer('c2', ''),
    ]);
    expect(messagesOf(user, call('c1'), output('c1'), call('c2'), output('c2'))).toEqual([
      user,
      { role: 'assistant', content: null, tool_calls: [chatCall('c1')] },
      answer('c1'),
      { role: 'assistant', content: null, tool_calls: [chatCall('c2')] },
      answer('c2'),
    ]);
  });

  it('adds calls to the message before them, across any reasoning between', () => {
    const said = { role: 'assistant', content: [{ type: 'output_text', text: 'I roll.' }] };
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], content: [] };
    expect(messagesOf(user, reasoning, said, reasoning, call('c1'), output('c1'))).toEqual([
      user,
      { role: 'assistant', content: 'I roll.', tool_calls: [chatCall('c1')] },
      answer('c1'),
    ]);
    // Servers refuse an empty text beside calls.
    const thought = { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] };
    expect(messagesOf(user, thought, call('c1'), output('c1'))[1]).toEqual({
      role: 'assistant',
      content: null,
      reasoning: 'Hm.',
      tool_calls: [chatCall('c1')],
    });
  });

  it('joins text after a call into the message of that call, ahead of its output', () => {
    const said = (text: string) => ({ role: 'assistant', content: text });
    expect(
      messagesOf(user, said('First.'), call('c1'), said('Then.'), call('c2'), output('c1'), output('c2')),
    ).toEqual([
      user,
      { role: 'assistant', content: 'First.\nThen.', tool_calls: [chatCall('c1'), chatCall('c2')] },
      answer('c1'),
      answer('c2'),
    ]);
    const parts = { role: 'assistant', content: ['a', 'b'].map(text => ({ type: 'output_text', text })) };
    expect(messagesOf(user, said('First.'), call('c1'), parts, output('c1'))[1]?.content).toEqual(
      ['First.', 'a', 'b'].map(text => ({ type: 'text', text })),
    );
  });

  it('does not join messages without calls', () => {
    const two = [
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: 'b' },
    ];
    expect(messagesOf(...two)).toEqual(two);
    expect(messagesOf(call('c1'), output('c1'), ...two)).toEqual([
      { role: 'assistant', content: null, tool_calls: [chatCall('c1')] },
      answer('c1'),
      ...two,
    ]);
  });

  it('accepts chat messages with their calls and answers', () => {
    const asked = { role: 'assistant', content: null, tool_calls: [chatCall('c1')] };
    expect(
      messagesOf(user, asked, { role: 'tool', tool_call_id: 'c1', content: '17' }, output('c1')),
    ).toEqual([user, asked, answer('c1'), answer('c1')]);
  });

  it('accepts outputs in parts', () => {
    expect(messagesOf(call('c1'), output('c1', [{ type: 'input_text', text: '17' }]))[1]).toEqual(
      answer('c1'),
    );
  });
});

describe('a hostile body', () => {
  it('cannot set a prototype', () => {
    const text = `{"model":"a/b","input":[{"role":"user","content":"a","__proto__":{"x":1}}],
      "__proto__":{"polluted":true},"reasoning":{"__proto__":{"effort":7}},"text":{"__proto__":{"format":7}},
      "tools":[{"type":"function","name":"a","__proto__":{"x":1},"parameters":{"__proto__":{"x":1}}}],"constructor":1}`;
    const request = dialect.parse(JSON.parse(text), context);
    for (const value of [request, request.unknown, request.messages[0], request.tools?.[0]?.function])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(request.reasoning_effort).toBeUndefined();
    expect(Object.keys(request.unknown)).toEqual([
      '__proto__',
      'constructor',
      'reasoning.__proto__',
      'text.__proto__',
      'input.__proto__',
      'tools.__proto__',
    ]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('of fifty thousand items takes linear time', () => {
    const many = Array.from({ length: 50_000 }, (_, at) => `c${at}`);
    const items = (kind: (id: string) => object) => parse({ input: many.map(kind) }).messages;
    const calls = items(call_id => ({ type: 'function_call', call_id, name: 'a', arguments: '{}' }));
    expect(calls).toMatchObject([{ role: 'assistant' }]);
    expect(calls[0]?.tool_calls).toHaveLength(many.length);
    const [first, ...rest] = many.map(text => ({
      role: 'assistant',
      content: [text, text].map(said => ({ type: 'output_text', text: said })),
    }));
    const call = { type: 'function_call', call_id: 'c', name: 'a', arguments: '{}' };
    expect(parse({ input: [first, call, ...rest] }).messages[0]?.content).toHaveLength(2 * many.length);
  });

  it('is rejected at its first fault, however many follow', () => {
    const faults = Array.from({ length: 200_000 }, () => ({ type: 'x' }));
    expect(() => parse({ input: faults })).toThrow(/^input\[0\]\.type: /);
    expect(() => parse({ input: [{ role: 'user', content: faults }] })).toThrow(
      /^input\[0\]\.content\[0\]\.type: /,
    );
    expect(() => parse({ messages: [{ role: 'user', content: faults }] })).toThrow(
      /^messages\[0\]\.content\[0\]\.type: /,
    );
  });
});
