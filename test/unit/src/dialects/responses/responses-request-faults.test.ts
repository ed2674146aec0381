import { describe, expect, it } from '@jest/globals';
import { responses } from '../../../../../src/dialects/responses/index.ts';
import type { GatewayError } from '../../../../../src/errors.ts';

const dialect = responses.create({ reasoning_placement: 'message' }, { models: [] });

function refused(fields: object): GatewayError {
  try {
    dialect.parse({ model: 'a/b', ...fields }, { path: '/v1/responses', headers: {}, account_id: undefined });
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error(`not refused: ${JSON.stringify(fields)}`);
}

const call = { type: 'function_call', call_id: 'c1', name: 'roll', arguments: '{}' };
const crmTool = { type: 'function', name: 'lookup' };
const image = (image_url: string) => ({ type: 'input_image', image_url });
const stateless = 'is not offered: replies are not stored here';
const inputText = 'must be a string or an array of {type: "input_text", text} parts';

describe('the error about an invalid Responses request', () => {
  it.each<[string, object, string]>([
    ['input', {}, 'is required: a string or an array of items'],
    ['input', { input: null, messages: null }, 'is required: a string or an array of items'],
    ['messages', { messages: [{ role: 'user', content: 'a' }] }, 'must not be sent together with input'],
    ['input', { input: '' }, 'must not be empty.'],
    ['input', { input: [] }, 'must not be empty.'],
    ['input', { input: 7 }, 'must be a string or an array of items, not 7'],
    ['input', { input: {} }, 'must be a string or an array of items, not an object'],
    ['input', { input: [{ type: 'reasoning', summary: [] }] }, 'must have at least one message.'],
    [
      'input[1]',
      { input: [{ role: 'user', content: 'a' }, 'b'] },
      "must be an object {role, content}, not 'b'",
    ],
    ['input[0].role', { input: [{ content: 'a' }] }, 'must be one of: system, user, assistant, tool'],
    ['input[0].role', { input: [{ role: 'robot', content: 'a' }] }, 'must be one of: system, user'],
    ['input[0].content', { input: [{ role: 'user' }] }, inputText],
    ['input[0].content', { input: [{ role: 'user', content: {} }] }, `${inputText}, not an object`],
    ['input[0].content', { input: [{ role: 'user', content: [] }] }, 'must not be empty'],
    ['input[0].content', { input: [{ role: 'assistant', content: null }] }, `${inputText}, not null`],
    [
      'input[0].content[1].type',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }, { type: 'input_audio' }] }] },
      `must be "input_text", "output_text", "text" or "input_image", not 'input_audio'`,
    ],
    [
      'input[0].content[0].type',
      { input: [{ role: 'user', content: [{ type: 'reasoning' }] }] },
      'must be "input_text"',
    ],
    [
      'input[0].content[0].text',
      { input: [{ role: 'user', content: [{ type: 'text' }] }] },
      'must be a string',
    ],
    [
      'input[0].content[0]',
      { input: [{ role: 'user', content: ['a'] }] },
      'must be an object {type: "input_text", text}',
    ],
    [
      'input[0].tool_call_id',
      { input: [{ role: 'tool', content: 'a' }] },
      'is required on a message with role "tool"',
    ],
    [
      'input[0].type',
      { input: [{ type: 'input_file' }] },
      'must be one of: message, function_call, function_call_output, custom_tool_call, custom_tool_call_output, reasoning',
    ],
    ['input[0].type', { input: [{ type: 'toString' }] }, 'must be one of: message'],
    ['input[0].type', { input: [{ type: 7 }] }, 'must be one of: message'],
    [
      'input[0].type',
      { input: [{ type: 'item_reference', id: 'msg_1' }] },
      "must not be 'item_reference': replies are not stored here",
    ],
    ['input[0].call_id', { input: [{ ...call, call_id: undefined }] }, 'must be a string'],
    ['input[0].call_id', { input: [{ ...call, call_id: '' }] }, 'must not be empty'],
    ['input[0].name', { input: [{ ...call, name: undefined }] }, 'must be a string'],
    [
      'input[0].arguments',
      { input: [{ ...call, arguments: {} }] },
      'must be a string of JSON, not an object',
    ],
    [
      'input[0].call_id',
      { input: [{ type: 'function_call_output', call_id: 'c1', output: 'a' }] },
      'must be the call_id of a function_call before it',
    ],
    [
      'input[1].call_id',
      { input: [call, { type: 'function_call_output', call_id: 'c2', output: 'a' }] },
      'must be the call_id of a function_call before it',
    ],
    [
      'input[1].output',
      { input: [call, { type: 'function_call_output', call_id: 'c1' }] },
      'must be a string or an array',
    ],
    [
      'input[1].output[0].type',
      { input: [call, { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_file' }] }] },
      'must be "input_text", "output_text", "text" or "input_image"',
    ],
    [
      'input[1].output[0].image_url',
      { input: [call, { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_image' }] }] },
      'must be a string',
    ],
    [
      'input[0].content[0].image_url',
      { input: [{ role: 'user', content: [image('http://a.example/a.png')] }] },
      'must be an https: address of a public host, or a data: URL',
    ],
    [
      'input[0].content[0].detail',
      { input: [{ role: 'user', content: [{ ...image('https://a.example/a.png'), detail: 'huge' }] }] },
      "must be one of: auto, low, high, not 'huge'",
    ],
    [
      'input[0].content[0].file_id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] },
      'is not offered: files are not stored here; send image_url.',
    ],
    [
      'input[0].content[0].type',
      { input: [{ role: 'system', content: [image('https://a.example/a.png')] }] },
      'must be "input_text", "output_text" or "text", not \'input_image\'',
    ],
    [
      'input[0].input',
      { input: [{ type: 'custom_tool_call', call_id: 'c1', name: 'a' }] },
      'must be a string',
    ],
    [
      'input[0].call_id',
      { input: [{ type: 'custom_tool_call_output', call_id: 'c1', output: 'a' }] },
      'must be the call_id of a function_call before it',
    ],
    ['input[0].namespace', { input: [{ ...call, namespace: 7 }] }, 'must be a string, not 7'],
    ['input[0].type', { input: [{ type: 'web_search_call' }] }, 'must be one of: message, function_call'],
    ['input[0].summary', { input: [{ type: 'reasoning', summary: 'a' }] }, "must be an array, not 'a'"],
    [
      'input[0].content[0].type',
      { input: [{ type: 'reasoning', content: [{ type: 'text', text: 'a' }] }] },
      'must be "reasoning_text", not \'text\'',
    ],
    [
      'input[0].encrypted_content',
      { input: [{ type: 'reasoning', encrypted_content: {} }] },
      'must be a string, not an object',
    ],
    ['messages', { input: null, messages: [] }, 'must have at least one message'],
    ['messages', { input: null, messages: 'a' }, 'must be an array of messages'],
    [
      'messages[0].content[0].type',
      { input: null, messages: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }] },
      'must be "text"',
    ],
    ['model', { model: undefined }, 'is required'],
    ['instructions', { instructions: ['a'] }, 'must be a string, not an array'],
    ['max_output_tokens', { max_output_tokens: 0 }, 'must be an integer of at least 1, not 0'],
    ['max_output_tokens', { max_output_tokens: '5' }, "must be an integer of at least 1, not '5'"],
    ['temperature', { temperature: 2.1 }, 'must be a number from 0 to 2, not 2.1'],
    ['top_p', { top_p: -1 }, 'must be a number from 0 to 1, not -1'],
    ['top_logprobs', { top_logprobs: 21 }, 'must be an integer from 0 to 20, not 21'],
    ['stream', { stream: 'true' }, "must be true or false, not 'true'"],
    ['stream_options', { stream_options: { include_usage: true } }, 'is accepted only with "stream": true.'],
    ['reasoning', { reasoning: 'low' }, "must be an object {effort}, not 'low'"],
    ['reasoning.effort', { reasoning: { effort: 7 } }, 'must be a string, not 7'],
    [
      'reasoning_effort',
      { reasoning_effort: 'low', reasoning: { effort: 'max' } },
      'must not differ from reasoning.effort',
    ],
    ['metadata', { metadata: [] }, 'must be an object, not an empty array'],
    ['tools', { tools: {} }, 'must be an array of tools, not an object'],
    ['tools[0]', { tools: ['roll'] }, 'must be an object {type: "function", name'],
    ['tools[0].type', { tools: [{ type: 'robot' }] }, 'must be "function", "custom" or "namespace"'],
    ['tools[0].type', { tools: [{}] }, 'must be "function", "custom" or "namespace"'],
    ['tools[0].name', { tools: [{ type: 'namespace', tools: [] }] }, 'must be a string'],
    ['tools[0].tools', { tools: [{ type: 'namespace', name: 'crm' }] }, 'must be an array of tools'],
    [
      'tools[0].tools[1].type',
      { tools: [{ type: 'namespace', name: 'crm', tools: [crmTool, { type: 'web_search' }] }] },
      `must be "function" or "custom", not 'web_search'`,
    ],
    [
      'tools[0].tools[1].name',
      { tools: [{ type: 'namespace', name: 'crm', tools: [crmTool, crmTool] }] },
      "must be unique, not 'lookup' again",
    ],
    ['tools[0].name', { tools: [{ type: 'custom', name: '' }] }, 'must not be empty'],
    [
      'tools[0].format',
      { tools: [{ type: 'custom', name: 'a', format: 'lark' }] },
      'must be an object {type}',
    ],
    [
      'tools[0].format.type',
      { tools: [{ type: 'custom', name: 'a', format: { type: 'regex' } }] },
      'must be "text" or "grammar"',
    ],
    [
      'tools[0].format.syntax',
      { tools: [{ type: 'custom', name: 'a', format: { type: 'grammar', definition: 'a' } }] },
      'must be "lark" or "regex"',
    ],
    ['tools[0].name', { tools: [{ type: 'function', function: { name: 'roll' } }] }, 'must be a string'],
    [
      'tools[0].parameters',
      { tools: [{ type: 'function', name: 'roll', parameters: [] }] },
      'must be an object',
    ],
    [
      'tool_choice',
      { tool_choice: 'any' },
      `must be "none", "auto", "required" or {type: "function", name}, not 'any'`,
    ],
    [
      'tool_choice.type',
      { tool_choice: { type: 'file_search' } },
      'must be "function", "custom" or "allowed_tools"; hosted tools are not offered, not \'file_search\'',
    ],
    [
      'tool_choice.name',
      { tools: [{ type: 'function', name: 'roll' }], tool_choice: { type: 'function', name: 'toss' } },
      "must be the name of a tool of this request, not 'toss'",
    ],
    [
      'tool_choice.name',
      { tools: [{ type: 'function', name: 'roll' }], tool_choice: { type: 'custom', name: 'roll' } },
      "must be the name of a tool of this request, not 'roll'",
    ],
    [
      'tool_choice.mode',
      { tool_choice: { type: 'allowed_tools', tools: [{}] } },
      'must be "auto" or "required"',
    ],
    [
      'tool_choice.tools',
      { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } },
      'must not be empty',
    ],
    [
      'tool_choice.tools[0].name',
      { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'toss' }] } },
      "must be the name of a tool of this request, not 'toss'",
    ],
    ['max_tokens', { max_tokens: 5 }, 'is not a field of this endpoint; use max_output_tokens.'],
    [
      'max_completion_tokens',
      { max_completion_tokens: 5 },
      'is not a field of this endpoint; use max_output',
    ],
    ['seed', { seed: 1.5 }, 'must be an integer from -9007199254740991'],
    ['include', { include: 'a' }, "must be an array of strings, not 'a'"],
    ['include[0]', { include: [7] }, 'must be a string, not 7'],
    ['store', { store: 'no' }, "must be true or false, not 'no'"],
    ['truncation', { truncation: 'some' }, `must be "auto" or "disabled", not 'some'`],
    ['max_tool_calls', { max_tool_calls: 0 }, 'must be an integer of at least 1, not 0'],
    ['service_tier', { service_tier: {} }, 'must be a string, not an object'],
    ['safety_identifier', { safety_identifier: 7 }, 'must be a string, not 7'],
    ['tool_choice.name', { tool_choice: { type: 'function' } }, 'must be a string'],
    ['text', { text: 'a' }, "must be an object {format}, not 'a'"],
    ['text.format', { text: { format: 'json' } }, "must be an object {type}, not 'json'"],
    [
      'text.format.type',
      { text: { format: { type: 'grammar' } } },
      'must be one of: text, json_object, json_schema',
    ],
    ['text.format.name', { text: { format: { type: 'json_schema', schema: {} } } }, 'must be a string'],
    ['text.format.schema', { text: { format: { type: 'json_schema', name: 'a' } } }, 'must be an object'],
    ['previous_response_id', { previous_response_id: 'resp_1' }, stateless],
    ['conversation', { conversation: 'conv_1' }, stateless],
    ['conversation', { conversation: { id: 'conv_1' } }, stateless],
    ['background', { background: true }, stateless],
    ['prompt', { prompt: { id: 'pmpt_1' } }, 'is not offered: prompts are not stored here'],
  ])('names %s for %j', (param, fields, problem) => {
    const needsInput = !['input', 'messages'].includes(param.split(/[[.]/)[0]!) || param === 'messages';
    const input = needsInput && !('input' in fields) ? { input: 'a' } : {};
    const error = refused({ ...input, ...fields });
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param });
    expect(error.message.slice(0, param.length + 2 + problem.length)).toBe(`${param}: ${problem}`);
  });
});
