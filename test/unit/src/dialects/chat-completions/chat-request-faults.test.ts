import { describe, expect, it } from '@jest/globals';
import type { ChatRequest } from '../../../../../src/canonical.ts';
import { chatCompletions } from '../../../../../src/dialects/chat-completions/index.ts';
import type { GatewayError } from '../../../../../src/errors.ts';

const dialect = chatCompletions.create({ reasoning_key: 'reasoning' }, { models: [] });

const messages = [{ role: 'user', content: 'Hello' }];
const parse = (fields: object): ChatRequest => dialect.parse({ model: 'a/b', messages, ...fields });
const call = { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{}' } };
const chosen = (name: string) => ({ type: 'function', function: { name } });
const roll = chosen('roll');
const calling = (more: object) => ({ role: 'assistant', tool_calls: [{ ...call, ...more }] });
function refused(fields: object): GatewayError {
  try {
    parse(fields);
  } catch (thrown) {
    return thrown as GatewayError;
  }
  throw new Error(`accepted: ${JSON.stringify(fields)}`);
}

describe('the error about an invalid field', () => {
  it.each<[string, object, string]>([
    ['model', { model: undefined }, 'is required: a model id from GET /v1/models'],
    ['model', { model: '' }, "is required: a model id from GET /v1/models, not ''"],
    ['model', { model: 7 }, 'is required: a model id from GET /v1/models, not 7'],
    ['messages', { messages: undefined }, 'is required: an array of messages'],
    ['messages', { messages: 'Hello' }, "is required: an array of messages, not 'Hello'"],
    ['messages', { messages: [] }, 'must have at least one message.'],
    ['messages[0]', { messages: ['Hello'] }, "must be an object {role, content}, not 'Hello'"],
    ['messages[0].role', { messages: [{ content: 'a' }] }, 'must be one of: system, user, assistant, tool'],
    ['messages[0].role', { messages: [{ role: 'function', content: 'a' }] }, 'must be one of: system, user'],
    ['messages[1].content', { messages: [...messages, { role: 'user' }] }, 'must be a string or an array'],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }, 'must be a string or an array of'],
    ['messages[0].content', { messages: [{ role: 'user', content: [] }] }, 'must not be empty.'],
    [
      'messages[0].content[1].type',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'input_audio', input_audio: {} },
            ],
          },
        ],
      },
      `must be "text" or "image_url", not 'input_audio'`,
    ],
    [
      'messages[0].content[0].type',
      { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: {} }] }] },
      `must be "text", not 'image_url'`,
    ],
    [
      'messages[0].content[0].image_url.url',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://a.example/b.png' } }] },
        ],
      },
      "must be an https: address of a public host, or a data: URL of a PNG, JPEG, GIF or WebP image in base64, of at most 20 MiB, not 'http://a.example/b.png'",
    ],
    [
      'messages[0].content[0].cache_control',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: 'yes' }] }] },
      'must be {type: "ephemeral"}, with ttl as a text if any, not \'yes\'',
    ],
    [
      'functions',
      { messages: [{ role: 'user', content: 'a' }], functions: [{}] },
      'is not offered; use tools.',
    ],
    [
      'modalities',
      { messages: [{ role: 'user', content: 'a' }], modalities: ['text', 'audio'] },
      'is not offered; answers are text: leave it out or send ["text"].',
    ],
    [
      'messages[0].function_call',
      { messages: [{ role: 'assistant', content: null, function_call: {} }] },
      'is not offered; use tool_calls.',
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
    ['n', { n: 129 }, 'must be at most 128, not 129'],
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
    ['metadata', { metadata: [] }, 'must be an object, not an empty array'],
    ['tools', { tools: {} }, 'must be an array of tools, not an object'],
    ['tools[0]', { tools: [{ type: 'web_search' }] }, 'must be an object {type: "function"'],
    ['tools[0]', { tools: [{ type: 'function', function: {} }] }, 'must be an object {type: "function"'],
    ['top_p', { top_p: 2 }, 'must be a number from 0 to 1, not 2'],
    ['seed', { seed: 0.5 }, 'must be an integer'],
    ['presence_penalty', { presence_penalty: 3 }, 'must be a number from -2 to 2, not 3'],
    ['top_logprobs', { top_logprobs: 21 }, 'must be an integer from 0 to 20, not 21'],
    ['response_format', { response_format: 'json' }, "must be an object, not 'json'"],
    [
      'response_format.type',
      { response_format: { type: 'xml' } },
      "must be one of: text, json_object, json_schema, structural_tag, not 'xml'",
    ],
    ['response_format.type', { response_format: {} }, 'must be one of: text, json_object'],
    [
      'response_format.json_schema',
      { response_format: { type: 'json_schema' } },
      'is required: an object {name, schema}',
    ],
    ['tool_choice', { tool_choice: 7 }, 'must be "none", "auto", "required" or {type: "function"'],
    ['tool_choice', { tool_choice: 'roll' }, 'must be "none", "auto", "required" or {type: "function"'],
    [
      'tool_choice.type',
      { tool_choice: { type: 'custom', custom: { name: 'roll' } } },
      'must be "function" or "allowed_tools"',
    ],
    [
      'tool_choice.function.name',
      { tool_choice: { type: 'function' } },
      'must be the name of a tool of this request',
    ],
    [
      'tool_choice.function.name',
      { tools: [roll], tool_choice: chosen('toss') },
      "must be the name of a tool of this request, not 'toss'",
    ],
    [
      'tool_choice.allowed_tools',
      { tool_choice: { type: 'allowed_tools' } },
      'must be an object {mode, tools}',
    ],
    [
      'tool_choice.allowed_tools.tools[1].function.name',
      {
        tools: [roll],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [chosen('roll'), chosen('toss')] },
        },
      },
      "must be the name of a tool of this request, not 'toss'",
    ],
    [
      'messages[0].tool_calls[0].extra_content',
      { messages: [calling({ extra_content: { signature: 'x'.repeat(65_536) } })] },
      'must have at most 65536 characters as JSON.',
    ],
    [
      'messages[0].tool_calls[0].extra_content',
      { messages: [calling({ extra_content: 'x' })] },
      "must be an object, not 'x'",
    ],
    ['user', { user: {} }, 'must be a string, not an object'],
  ])('starts with %s for %j, then says what is accepted and what was sent', (param, fields, problem) => {
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
