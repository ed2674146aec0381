import { z } from 'zod';
import { isObject } from '../../../common/json-object.ts';
import {
  type ContentPart,
  type Message,
  max_extra_characters,
  type ReasoningDetail,
  type ToolCall,
} from '../../exchange/canonical.ts';
import { cacheControl } from './cache-control.ts';
import { arrayOf, byType, fault, parsedBy } from './first-fault.ts';
import { imagePart, imageUrl } from './image.ts';
import { audio, file } from './media.ts';
import { anyObject, nonEmptyText, optionalText, present, text } from './shared-fields.ts';

const textPart = z
  .object({ type: z.literal('text'), text, cache_control: cacheControl })
  .transform(({ cache_control, ...part }): ContentPart => ({ ...part, ...present({ cache_control }) }));

const image = z
  .object({
    type: z.literal('image_url'),
    image_url: z.object(
      {
        url: imageUrl,
        detail: z.enum(['auto', 'low', 'high'], 'must be one of: auto, low, high').nullish(),
      },
      'must be an object {url, detail}',
    ),
    cache_control: cacheControl,
  })
  .transform(
    ({ image_url: { url, detail }, cache_control }): ContentPart => ({
      ...imagePart(url, detail ?? undefined),
      ...present({ cache_control }),
    }),
  );

const notPart = 'must be an object {type: "text", text}';
const textOnly = byType({ text: textPart }, 'must be "text"', notPart);
const anyPart = byType<ContentPart>(
  {
    text: textPart,
    image_url: image,
    file: z.object({ file }).transform(part => part.file),
    input_audio: z.object({ input_audio: audio }).transform(part => part.input_audio),
  },
  'must be "text", "image_url", "file" or "input_audio"',
  notPart,
);

const notContent = 'must be a string or an array of {type: "text", text} parts';
const textParts = arrayOf(textOnly, notContent, 'must not be empty.');
/** The parts of messages that may show something: the user's, and results of tools. */
const allParts = arrayOf(anyPart, notContent, 'must not be empty.');

const extraContent = anyObject
  .refine(
    value => JSON.stringify(value).length <= max_extra_characters,
    `must have at most ${max_extra_characters} characters as JSON.`,
  )
  .nullish();

const toolCall = z
  .object(
    {
      id: nonEmptyText,
      type: z.literal('function', 'must be "function"'),
      function: z.object(
        {
          name: nonEmptyText,
          arguments: z.string('must be a string of JSON'),
        },
        'must be an object {name, arguments}',
      ),
      extra_content: extraContent,
      cache_control: cacheControl,
    },
    'must be an object {id, type: "function", function: {name, arguments}}',
  )
  .transform(
    ({ extra_content, cache_control, ...call }): ToolCall => ({
      ...call,
      ...present({ extra_content, cache_control }),
    }),
  );

const reasoningDetail = z.custom<ReasoningDetail>(
  value => isObject(value) && typeof value.type === 'string',
  'must be an object {type}, as it was received',
);

const roles = ['system', 'user', 'assistant', 'tool', 'developer'] as const;

const notOffered = (use: string) =>
  z.custom<null | undefined>(value => value == null, `is not offered; use ${use}.`).nullish();

const messageShape = z.object(
  {
    role: z.enum(roles, 'must be one of: system, user, assistant, tool (developer is read as system)'),
    content: z.unknown().optional(),
    reasoning: optionalText,
    reasoning_content: optionalText,
    reasoning_details: arrayOf(reasoningDetail, 'must be an array').nullish(),
    refusal: optionalText,
    tool_calls: arrayOf(toolCall, 'must be an array').nullish(),
    tool_call_id: optionalText,
    name: optionalText,
    function_call: notOffered('tool_calls'),
    audio: notOffered('content'),
  },
  'must be an object {role, content}',
);

type MessageFields = z.output<typeof messageShape>;

/** Names of a message's fields; all others are unknown. */
export const messageFields: ReadonlySet<string> = new Set(Object.keys(messageShape.shape));

/** Names of a content part's fields. */
export const partFields: ReadonlySet<string> = new Set([
  ...['type', 'text', 'image_url', 'file', 'input_audio', 'cache_control'],
]);

/** Names of the fields of a part's image. */
export const imageFields: ReadonlySet<string> = new Set(['url', 'detail']);

/** Names of a tool call's fields, and of its function's. */
export const callFields: ReadonlySet<string> = new Set([
  'id',
  'type',
  'function',
  'extra_content',
  'cache_control',
]);
export const calledFields: ReadonlySet<string> = new Set(['name', 'arguments']);

/** A message of the conversation. */
export const message = messageShape.transform((from, issues): Message => {
  const to: Message = { role: from.role === 'developer' ? 'system' : from.role };
  const content = contentOf(from, issues);
  if (content === undefined) return z.NEVER;
  to.content = content;
  if (from.role === 'assistant') addAssistantFields(to, from);
  if (from.role === 'tool') {
    if (!from.tool_call_id) return fault(issues, 'is required on a message with role "tool"', 'tool_call_id');
    to.tool_call_id = from.tool_call_id;
  }
  if (from.name != null) to.name = from.name;
  return to;
});

/** A message of a role and a text and nothing else, as most are: through the schema it would take 1,600 bytes of garbage. */
export function plainMessage(given: unknown): Message | undefined {
  const { role, content } = (given ?? {}) as { role?: unknown; content?: unknown };
  if (typeof content !== 'string' || (role !== 'user' && role !== 'assistant' && role !== 'system'))
    return undefined;
  for (const name in given as object) if (name !== 'role' && name !== 'content') return undefined;
  return { role, content };
}

/** The same of all messages of a conversation. */
export function plainMessages(given: unknown): Message[] | undefined {
  if (!Array.isArray(given) || given.length === 0) return undefined;
  const messages: Message[] = [];
  for (let at = 0; at < given.length; at++) {
    const message = plainMessage(given[at]);
    if (!message) return undefined;
    messages.push(message);
  }
  return messages;
}

/** The content; `undefined` after a fault. */
function contentOf(from: MessageFields, issues: z.RefinementCtx): Message['content'] {
  const { role, content, tool_calls, refusal } = from;
  if (typeof content === 'string') return content;
  if (content != null) {
    const parts = role === 'user' || role === 'tool' ? allParts : textParts;
    return parsedBy(parts, content, issues, ['content']);
  }
  if (role === 'assistant') {
    if (tool_calls?.length) return null;
    if (refusal) return refusal;
  }
  fault(issues, notContent, 'content');
  return undefined;
}

function addAssistantFields(to: Message, from: MessageFields): void {
  if (from.tool_calls?.length) to.tool_calls = from.tool_calls;
  const reasoning = reasoningIn(from);
  if (reasoning) to.reasoning = reasoning;
  if (from.reasoning_details?.length) to.reasoning_details = from.reasoning_details;
}

/** Reasoning under either of its names; a client may send both. */
const reasoningIn = ({ reasoning, reasoning_content }: MessageFields): string | null | undefined =>
  reasoning || reasoning_content;
