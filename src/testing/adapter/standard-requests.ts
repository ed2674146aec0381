import { messageParts } from './message-part-requests.ts';
import { parts, result, toolLoop, tools, user } from './standard-conversation.ts';
import type { StandardRequest } from './standard-request.ts';

const schema = { type: 'object', properties: { kit_answer: { type: 'string' } }, required: ['kit_answer'] };

const conversations: readonly StandardRequest[] = [
  { name: 'the least request', request: {}, says: ['Why do rivers bend?'] },
  {
    name: 'a system message',
    request: { messages: [{ role: 'system', content: 'kit rules' }, user('kit question')] },
    says: ['kit rules', 'kit question'],
  },
  {
    name: 'system messages in the middle and in parts',
    request: {
      messages: [
        user('kit question'),
        { role: 'system', content: parts('kit first', 'kit second') },
        { role: 'assistant', content: 'kit answer' },
        user(parts('kit third', 'kit fourth')),
      ],
    },
    says: ['kit question', 'kit first', 'kit second', 'kit answer', 'kit third', 'kit fourth'],
  },
  { name: 'a system message alone', request: { messages: [{ role: 'system', content: 'kit rules' }] } },
  {
    name: 'two messages of one role',
    request: {
      messages: [user('kit first'), user('kit second'), { role: 'assistant', content: 'kit begun' }],
    },
    says: ['kit first', 'kit second'],
  },
  {
    name: 'empty messages',
    request: { messages: [user(''), user([]), { role: 'assistant', content: null }] },
  },
  {
    name: 'tool results',
    request: { messages: toolLoop('{"kit_sides":2718}', 'kit shows 7', parts('kit shows', ' 4')), tools },
    says: ['kit preamble', 'kit_roll', '2718', 'kit shows 7', ' 4'],
  },
  {
    name: 'tool results without the tools',
    request: { messages: toolLoop('{"kit_sides":2718}', '{"kit":"shows"}') },
    says: ['kit_roll', '2718', 'shows'],
  },
  ...[`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, '{"kit'].map(text => ({
    name: `tool results ${text.slice(0, 8)}…`,
    request: { messages: toolLoop('{}', text), tools },
  })),
  {
    name: 'a tool result without its call',
    request: { messages: [user('Roll.'), result('call_kit0', 'x')] },
  },
  ...['', '{"kit', '[7]', 'null', '['.repeat(20_000), `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`].map(
    text => ({
      name: `tool call arguments ${text.length > 20 ? `${text.slice(0, 20)}…` : JSON.stringify(text)}`,
      request: { messages: toolLoop(text, 'x'), tools },
    }),
  ),
];

const toolRequests: readonly StandardRequest[] = [
  {
    name: 'tools',
    request: { tools },
    field: 'tools',
    isNeeded: true,
    says: ['kit_roll', 'kit description', 'kit_sides'],
  },
  {
    name: 'a tool without parameters',
    request: { tools: [{ type: 'function', function: { name: 'kit_now' } }] },
  },
  ...['none', 'required', { type: 'function', function: { name: 'kit_roll' } }].map(tool_choice => ({
    name: `tool_choice ${JSON.stringify(tool_choice)}`,
    request: { tools, parameters: { tool_choice } },
    field: 'tool_choice',
    without: { tools },
  })),
  ...['auto', 'kit', {}, { type: 'function' }].map(tool_choice => ({
    name: `tool_choice ${JSON.stringify(tool_choice)}`,
    request: { tools, parameters: { tool_choice } },
  })),
  {
    name: 'parallel_tool_calls',
    request: { tools, parameters: { parallel_tool_calls: false } },
    field: 'parallel_tool_calls',
    without: { tools },
  },
];

const parameterValues: Readonly<Record<string, readonly unknown[]>> = {
  top_p: [0.25],
  presence_penalty: [0.25],
  frequency_penalty: [0.25],
  seed: [271_828],
  logit_bias: [{ '50256': -100 }],
  logprobs: [true],
  top_logprobs: [2],
  user: ['kit-user'],
  response_format: [{ type: 'json_object' }, { type: 'json_schema', json_schema: { name: 'kit', schema } }],
};

const settings: readonly StandardRequest[] = [
  { name: 'a stream', request: { stream: true }, field: 'stream', isNeeded: true },
  { name: 'temperature', request: { temperature: 0.25 }, field: 'temperature' },
  { name: 'temperature 0', request: { temperature: 0 }, field: 'temperature' },
  { name: 'max_tokens', request: { max_tokens: 314 }, field: 'max_tokens', isNeeded: true, says: ['314'] },
  { name: 'stop', request: { stop: ['KIT-END', ' '] }, field: 'stop' },
  { name: 'n', request: { n: 2 }, field: 'n' },
  ...Object.entries(parameterValues).flatMap(([field, values]) =>
    values.map(value => ({
      name: `${field} ${JSON.stringify(value)}`,
      request: { parameters: { [field]: value, ...(field === 'top_logprobs' && { logprobs: true }) } },
      field,
      ...(field === 'top_logprobs' && { without: { parameters: { logprobs: true } } }),
    })),
  ),
  {
    name: 'text as response_format',
    request: { parameters: { response_format: { type: 'text' } } },
  },
  { name: 'a response_format of no kind', request: { parameters: { response_format: { type: 'kit' } } } },
  {
    name: 'a parameter that the operator added',
    request: { parameters: { kit_parameter: 2718 } },
    field: 'kit_parameter',
  },
  {
    name: 'a field that the configuration lets through',
    request: { unknown: { kit_extra: 2718 } },
    target: { extraParameters: ['kit_extra'] },
    field: 'kit_extra',
    isNeeded: true,
  },
  {
    name: 'the effort_map of a model',
    request: { reasoning_effort: 'kit' },
    target: { effortMap: { kit: { kit_effort: 2718 } } },
    field: 'reasoning_effort',
    isNeeded: true,
    says: ['kit_effort'],
  },
  {
    name: 'everything at once',
    request: {
      tools,
      temperature: 0.25,
      max_tokens: 314,
      stop: ['KIT-END'],
      stream: true,
      stream_options: { include_usage: true },
      reasoning_split: false,
      metadata: { kit: 'metadata' },
      parameters: { top_p: 0.25, seed: 7, tool_choice: 'required' },
    },
  },
];

/** Requests of every kind; `efforts` are the adapter's levels. */
export const standardRequests = (efforts: readonly string[]): readonly StandardRequest[] => [
  ...conversations,
  ...messageParts,
  ...toolRequests,
  ...settings,
  ...efforts.map(reasoning_effort => ({
    name: `reasoning_effort ${reasoning_effort}`,
    request: { reasoning_effort },
    field: 'reasoning_effort',
  })),
];
