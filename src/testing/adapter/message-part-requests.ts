import type { Message } from '../../gateway/exchange/canonical.ts';
import { parts, toolLoop, tools, user } from './standard-conversation.ts';
import type { StandardRequest } from './standard-request.ts';

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
const extra_content = { kit: { signature: 'kit signed' } };
const cache_control = { type: 'ephemeral' as const, ttl: '1h' };
const marked = (text: string) => ({ type: 'text' as const, text, cache_control });
const kitImages = [
  {
    type: 'image_url' as const,
    image_url: { url: 'data:image/png;base64,a2l0LWltYWdl', detail: 'low' as const },
  },
  { type: 'image_url' as const, image_url: { url: 'https://kit.example/image.png' } },
];

const signedCalls = toolLoop('{}', 'kit shows')[1]!.tool_calls!.map(call => ({ ...call, extra_content }));

/** Requests with what messages may have beyond text and calls. */
export const messageParts: readonly StandardRequest[] = [
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
    name: 'what a provider has added to a call',
    request: reasoned({ tool_calls: signedCalls }),
    field: 'messages.tool_calls.extra_content',
    without: reasoned({}),
  },
  {
    name: 'the reference to a tool in the result of one',
    request: {
      messages: toolLoop('{}', [
        { type: 'text', text: '[tool reference: kit_roll]', tool_reference: 'kit_roll' },
      ]),
      tools,
    },
    says: ['kit_roll'],
    declared: 'tool_reference',
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
