import type { ChatRequest, Message, Tool } from '../../canonical.ts';
import type { Target } from '../../upstream/adapter.ts';
import type { MessageField } from '../../upstream/attempt/fit-messages.ts';

/** A request that every adapter must encode, or refuse by field. */
export interface StandardRequest {
  readonly name: string;
  readonly request: Partial<ChatRequest>;
  readonly target?: Partial<Target>;
  /** The field that must change what is sent, be named in `ignored`, or be refused. */
  readonly field?: string;
  /** What the same request is without it; the least request without this. */
  readonly without?: Partial<ChatRequest>;
  /** Texts that must be sent. */
  readonly says?: readonly string[];
  /** The field must change what is sent. */
  readonly isNeeded?: boolean;
  /** Only for adapters that declare this in `messageFields`. */
  readonly declared?: MessageField;
}

type Content = NonNullable<Message['content']>;

const user = (content: Content): Message => ({ role: 'user', content });
const call = (id: string, text: string) => ({
  id,
  type: 'function' as const,
  function: { name: 'kit_roll', arguments: text },
});
const result = (id: string, content: Content): Message => ({
  role: 'tool',
  tool_call_id: id,
  content,
});
const parameters = {
  type: 'object',
  properties: { kit_sides: { type: 'integer' } },
  required: ['kit_sides'],
};
const tools: Tool[] = [
  { type: 'function', function: { name: 'kit_roll', description: 'kit description', parameters } },
];
const schema = { type: 'object', properties: { kit_answer: { type: 'string' } }, required: ['kit_answer'] };

/** The least request. */
export const leastRequest: ChatRequest = {
  model: 'kit/model',
  messages: [user('Why do rivers bend?')],
  stream: false,
  parameters: {},
  unknown: {},
};

/** A conversation that has called tools. `text` are the arguments. */
export const toolLoop = (text: string, ...results: Content[]): Message[] => [
  user('Roll.'),
  {
    role: 'assistant',
    content: 'kit preamble',
    tool_calls: results.map((_, at) => call(`call_kit${at}`, text)),
  },
  ...results.map((content, at) => result(`call_kit${at}`, content)),
];

const parts = (...texts: string[]): Content => texts.map(text => ({ type: 'text', text }));

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

/** A tool loop whose calls come back with this. */
const reasoned = (more: Partial<Message>) => {
  const [question, called, ...results] = toolLoop('{}', 'kit shows');
  return { messages: [question!, { ...called!, ...more }, ...results], tools };
};
const failed = toolLoop('{}', 'kit shows').map(
  (message): Message => (message.role === 'tool' ? { ...message, is_error: true } : message),
);
const kitDetails = [
  { type: 'reasoning.text', text: 'kit thought', signature: 'kit', format: 'kit-v1', index: 0 },
  { type: 'reasoning.encrypted', data: 'kit', format: null },
  { type: 'kit' },
];
const cache_control = { type: 'ephemeral' as const, ttl: '1h' };
const marked = (text: string) => ({ type: 'text' as const, text, cache_control });
const kitImages = [
  {
    type: 'image_url' as const,
    image_url: { url: 'data:image/png;base64,a2l0LWltYWdl', detail: 'low' as const },
  },
  { type: 'image_url' as const, image_url: { url: 'https://kit.example/image.png' } },
];

const messageParts: readonly StandardRequest[] = [
  {
    name: 'reasoning that the client sends back',
    request: reasoned({ reasoning: 'kit thought' }),
    field: 'messages.reasoning',
    without: reasoned({}),
  },
  {
    name: 'reasoning with the signature of another maker',
    request: reasoned({ reasoning: 'kit thought', reasoning_details: kitDetails }),
    field: 'messages.reasoning',
    without: reasoned({}),
  },
  {
    name: 'the failure of a tool',
    request: { messages: failed, tools },
    field: 'messages.is_error',
    without: { messages: toolLoop('{}', 'kit shows'), tools },
    says: ['kit shows'],
  },
  {
    name: 'images',
    request: { messages: [user([{ type: 'text', text: 'kit question' }, ...kitImages])] },
    says: ['kit question', 'a2l0LWltYWdl', 'https://kit.example/image.png'],
    declared: 'image_url',
  },
  {
    name: 'an image alone',
    request: { messages: [user([kitImages[0]!])] },
    says: ['a2l0LWltYWdl'],
    declared: 'image_url',
  },
  {
    name: 'an image in the result of a tool',
    request: {
      messages: toolLoop('{}', [{ type: 'text', text: 'kit shows' }, kitImages[0]!], 'kit other'),
      tools,
    },
    says: ['kit shows', 'a2l0LWltYWdl', 'kit other'],
    declared: 'image_url',
  },
  {
    name: 'a cache mark on a text',
    request: { messages: [user([marked('kit question')])] },
    field: 'cache_control',
    without: { messages: [user(parts('kit question'))] },
    says: ['kit question'],
  },
  {
    name: 'a cache mark on the system prompt',
    request: { messages: [{ role: 'system', content: [marked('kit rules')] }, user('kit question')] },
    field: 'cache_control',
    without: { messages: [{ role: 'system', content: parts('kit rules') }, user('kit question')] },
    says: ['kit rules'],
  },
  {
    name: 'a cache mark on the result of a tool',
    request: { messages: toolLoop('{}', [marked('kit shows')]), tools },
    field: 'cache_control',
    without: { messages: toolLoop('{}', parts('kit shows')), tools },
    says: ['kit shows'],
  },
  {
    name: 'a cache mark on a tool',
    request: { tools: tools.map(tool => ({ ...tool, cache_control })) },
    field: 'cache_control',
    without: { tools },
    says: ['kit_roll'],
  },
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
