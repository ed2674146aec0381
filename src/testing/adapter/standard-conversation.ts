import type { ChatRequest, Message, Tool } from '../../gateway/exchange/canonical.ts';

/** What a message says. */
export type Content = NonNullable<Message['content']>;

/** A message of the user. */
export const user = (content: Content): Message => ({ role: 'user', content });

const call = (id: string, text: string) => ({
  id,
  type: 'function' as const,
  function: { name: 'kit_roll', arguments: text },
});

/** The result of a call. */
export const result = (id: string, content: Content): Message => ({
  role: 'tool',
  tool_call_id: id,
  content,
});

const parameters = {
  type: 'object',
  properties: { kit_sides: { type: 'integer' } },
  required: ['kit_sides'],
};

/** The tool that is called. */
export const tools: Tool[] = [
  { type: 'function', function: { name: 'kit_roll', description: 'kit description', parameters } },
];

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

/** Content of several texts. */
export const parts = (...texts: string[]): Content => texts.map(text => ({ type: 'text', text }));
