import { describe, expect, it } from '@jest/globals';
import type { ChatRequest } from '../../../../src/canonical.ts';
import { chatCompletions } from '../../../../src/dialects/chat-completions.ts';
import type { GatewayError } from '../../../../src/errors.ts';

const messages = [{ role: 'user', content: 'Hello' }];
const parse = (fields: object): ChatRequest => chatCompletions.parse({ model: 'a/b', messages, ...fields });
const message = (given: object) => parse({ messages: [...messages, given] }).messages[1];
const call = { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{}' } };
const tool = { type: 'function' as const, function: { name: 'roll', parameters: { type: 'object' } } };

function refused(fields: object): GatewayError {
  try {
    parse(fields);
  } catch (thrown) {
    return thrown as GatewayError;
  }
  throw new Error(`accepted: ${JSON.stringify(fields)}`);
}

describe('a field at fault is named first, with what is accepted and what was sent', () => {
  it.each<[string, object, string]>([
    ['model', { model: undefined }, 'is required: a model id from GET /v1/models'],
    ['model', { model: '' }, "is required: a model id from GET /v1/models, not ''"],
    ['model', { model: 7 }, 'is required: a model id from GET /v1/models, not 7'],
    ['messages', { messages: undefined }, 'is required: an array of messages'],
    ['messages', { messages: 'Hello' }, "is required: an array of messages, not 'Hello'"],
    ['messages', { messages: [] }, 'must have at least one message, not an array'],
    ['messages[0]', { messages: ['Hello'] }, "must be an object {role, content}, not 'Hello'"],
    ['messages[0].role', { messages: [{ content: 'a' }] }, 'must be one of: system, user, assistant, tool'],
    ['messages[0].role', { messages: [{ role: 'function', content: 'a' }] }, 'must be one of: system, user'],
    ['messages[1].content', { messages: [...messages, { role: 'user' }] }, 'must be a string or an array'],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }, 'must be a string or an array of'],
    ['messages[0].content', { messages: [{ role: 'user', content: [] }] }, 'must not be empty, not an array'],
    [
      'messages[0].content[1].type',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'image_url', image_url: {} },
            ],
          },
        ],
      },
      `must be "text"; other content is not accepted, not 'image_url'`,
    ],
    [
      'messages[0].content[0].text',
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'must be a string',
    ],
    [
      'messages[0].content[0]',
      { messages: [{ role: 'user', content: ['a'] }] },
      'must be an object {type: "text", text}',
    ],
    [
      'messages[0].content',
      { messages: [{ role: 'assistant', content: null }] },
      'must be a string or an array',
    ],
    [
      'messages[0].tool_call_id',
      { messages: [{ role: 'tool', content: 'a' }] },
      'is required on a message with role "tool"',
    ],
    [
      'messages[0].tool_calls[0].id',
      { messages: [{ role: 'assistant', tool_calls: [{ ...call, id: undefined }] }] },
      'must be a string',
    ],
    [
      'messages[0].tool_calls[0].function.arguments',
      {
        messages: [
          { role: 'assistant', tool_calls: [{ ...call, function: { name: 'roll', arguments: {} } }] },
        ],
      },
      'must be a string of JSON, not an object',
    ],
    ['temperature', { temperature: -0.1 }, 'must be a number from 0 to 2, not -0.1'],
    ['temperature', { temperature: 2.1 }, 'must be a number from 0 to 2, not 2.1'],
    ['temperature', { temperature: '1' }, "must be a number from 0 to 2, not '1'"],
    ['temperature', { temperature: Number.POSITIVE_INFINITY }, 'must be a number from 0 to 2, not Infinity'],
    ['max_tokens', { max_tokens: 0 }, 'must be an integer of at least 1, not 0'],
    ['max_tokens', { max_tokens: 1.5 }, 'must be an integer of at least 1, not 1.5'],
    ['max_tokens', { max_tokens: '5' }, "must be an integer of at least 1, not '5'"],
    ['max_completion_tokens', { max_completion_tokens: 0 }, 'must be an integer of at least 1, not 0'],
    ['n', { n: 0 }, 'must be an integer of at least 1, not 0'],
    ['stop', { stop: '' }, "must be an array of non-empty strings, not ''"],
    ['stop', { stop: ['a', ''] }, 'must be an array of non-empty strings, not an array'],
    ['stop', { stop: [7] }, 'must be an array of non-empty strings, not an array'],
    ['stop', { stop: {} }, 'must be an array of non-empty strings, not an object'],
    ['stream', { stream: 'true' }, "must be true or false, not 'true'"],
    ['stream_options', { stream: true, stream_options: 7 }, 'must be an object, not 7'],
    [
      'stream_options.continuous_usage_stats',
      { stream: true, stream_options: { continuous_usage_stats: 1 } },
      'must be true or false, not 1',
    ],
    ['stream_options', { stream_options: { include_usage: true } }, 'is accepted only with "stream": true'],
    ['stream_options', { stream: false, stream_options: { include_usage: false } }, 'is accepted only with'],
    ['reasoning_effort', { reasoning_effort: 1 }, 'must be a string, not 1'],
    ['reasoning_split', { reasoning_split: 'yes' }, "must be true or false, not 'yes'"],
    ['metadata', { metadata: [] }, 'must be an object, not an array'],
    ['tools', { tools: {} }, 'must be an array of tools, not an object'],
    ['tools[0]', { tools: [{ type: 'web_search' }] }, 'must be an object {type: "function"'],
    ['tools[0]', { tools: [{ type: 'function', function: {} }] }, 'must be an object {type: "function"'],
    ['top_p', { top_p: 2 }, 'must be a number from 0 to 1, not 2'],
    ['seed', { seed: 0.5 }, 'must be an integer'],
    ['presence_penalty', { presence_penalty: 3 }, 'must be a number from -2 to 2, not 3'],
    ['top_logprobs', { top_logprobs: 21 }, 'must be an integer from 0 to 20, not 21'],
    ['response_format', { response_format: 'json' }, "must be an object, not 'json'"],
    ['tool_choice', { tool_choice: 7 }, 'must be a string or an object, not 7'],
    ['user', { user: {} }, 'must be a string, not an object'],
  ])('%s in %j', (param, fields, problem) => {
    const error = refused(fields);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param });
    expect(error.message.startsWith(`${param}: ${problem}`)).toBe(true);
  });

  it('never repeats a long value', () => {
    const secret = 'x'.repeat(100);
    const { message: words } = refused({ temperature: secret });
    expect(words).not.toContain(secret);
    expect(words).toContain('not a string of 100 characters');
  });
});

describe('what is accepted', () => {
  it('is the least that is required', () => {
    expect(parse({})).toEqual({ model: 'a/b', messages, stream: false, parameters: {}, unknown: {} });
  });

  it('is null for every optional field, which is as if it were absent (m6)', () => {
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
    ['bounds (m1, m3)', { temperature: 0, max_tokens: 1 }, { temperature: 0, max_tokens: 1 }],
    ['the other bound', { temperature: 2 }, { temperature: 2 }],
    [
      'the newer name of the cap, which wins (m3)',
      { max_tokens: 5, max_completion_tokens: 7 },
      { max_tokens: 7 },
    ],
    ['the newer name alone', { max_completion_tokens: 7 }, { max_tokens: 7 }],
    ['one stop sequence (m2)', { stop: '\n' }, { stop: ['\n'] }],
    ['more than four', { stop: ['a', 'b', 'c', 'd', 'e'] }, { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['no tools (m9)', { tools: [] }, { tools: [] }],
    ['tools with all they have', { tools: [tool] }, { tools: [tool] }],
    [
      'stream options of a stream',
      { stream: true, stream_options: { continuous_usage_stats: true } },
      {
        stream: true,
        stream_options: { continuous_usage_stats: true },
      },
    ],
    ['an empty object of them without one (m11)', { stream_options: {} }, { stream_options: {} }],
    [
      'forwarded parameters (m5)',
      { top_p: 0.9, seed: 7, user: 'me', logit_bias: { 5: -1 } },
      {
        parameters: { top_p: 0.9, seed: 7, user: 'me', logit_bias: { 5: -1 } },
      },
    ],
    [
      'unknown fields, kept apart (m5)',
      { top_k: 5, chat_template: 'x' },
      { unknown: { top_k: 5, chat_template: 'x' } },
    ],
    ['metadata, whose values another place judges (m10)', { metadata: { a: 'b' } }, { metadata: { a: 'b' } }],
    ['no metadata', { metadata: {} }, { metadata: {} }],
  ])('is %s', (_, fields, expected) => {
    expect(parse(fields)).toEqual({ ...parse({}), ...expected });
  });

  it.each<[string, object, object]>([
    [
      'a developer, read as system (m7)',
      { role: 'developer', content: 'a' },
      { role: 'system', content: 'a' },
    ],
    [
      'parts, kept as parts (m8)',
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
      { role: 'assistant', content: 'a' },
    ],
  ])('is a message with %s', (_, given, expected) => {
    expect(message(given)).toEqual(expected);
  });
});

describe('a hostile body (m15)', () => {
  it('cannot set the prototype of anything', () => {
    const text = `{"model":"a/b","messages":[{"role":"user","content":"a","__proto__":{"x":1}}],
      "__proto__":{"polluted":true},"metadata":{"__proto__":"a"},"logit_bias":{"__proto__":{"x":1}},"constructor":1}`;
    const request = chatCompletions.parse(JSON.parse(text));
    for (const value of [
      request,
      request.unknown,
      request.metadata,
      request.messages[0],
      request.parameters.logit_bias,
    ])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(request.unknown)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
