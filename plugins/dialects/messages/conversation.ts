import { z } from 'zod';
import {
  arrayOf,
  type CacheControl,
  type ContentPart,
  type Message,
  type ReasoningDetail,
  requestFields,
  type ToolCall,
} from '../../../src/plugin.ts';
import { type Block, blocksIn, contentOf, systemBlocks } from './content-blocks.ts';
import { block_separator, detailOf, type RedactedBlock, type ThinkingBlock } from './reasoning-details.ts';

const { fault, parsedBy } = requestFields;

const roles = ['user', 'assistant', 'system'] as const;
const notContent = 'must be a string or an array of content blocks';

const messageShape = z.object(
  { role: z.enum(roles, 'must be one of: user, assistant'), content: z.unknown().optional() },
  'must be an object {role, content}',
);

/** One message, which is several in the canonical form if it has results of tools. */
const message = messageShape.transform(({ role, content }, issues): Message[] => {
  if (typeof content === 'string') return [{ role, content }];
  if (!Array.isArray(content)) return fault(issues, notContent, 'content');
  if (role === 'system') {
    const parts = parsedBy(systemBlocks, content, issues, ['content']);
    return parts ? [{ role, content: contentOf(parts) }] : z.NEVER;
  }
  // A reply may be empty, and is sent back.
  if (content.length === 0 && role === 'user') return fault(issues, 'must not be empty.', 'content');
  const blocks = blocksIn(role, content, issues);
  if (!blocks) return z.NEVER;
  return role === 'user' ? userMessages(blocks) : [assistantMessage(blocks)];
});

/** Results of tools first, since servers require them directly after the calls; then what the user says. */
function userMessages(blocks: readonly Block[]): Message[] {
  const messages = blocks.flatMap(block => ('result' in block ? [block.result] : []));
  const parts = partsIn(blocks);
  if (parts.length > 0) messages.push({ role: 'user', content: contentOf(parts) });
  return messages;
}

function assistantMessage(blocks: readonly Block[]): Message {
  const tool_calls = blocks.flatMap((block): ToolCall[] => ('call' in block ? [block.call] : []));
  const parts = partsIn(blocks);
  const thinking = blocks.flatMap(block => ('thinking' in block ? [block.thinking] : []));
  return {
    role: 'assistant',
    content: parts.length === 0 && tool_calls.length > 0 ? null : contentOf(parts),
    ...reasoningOf(thinking),
    ...(tool_calls.length > 0 && { tool_calls }),
  };
}

/** Thinking as one text, and block by block if any of it is signed. */
function reasoningOf(
  blocks: readonly (ThinkingBlock | RedactedBlock)[],
): Pick<Message, 'reasoning' | 'reasoning_details'> {
  const texts = blocks.flatMap(block => ('thinking' in block ? [block.thinking] : []));
  const reasoning = texts.filter(text => text !== '').join(block_separator);
  const isSigned = blocks.some(block => 'data' in block || block.signature !== '');
  return {
    ...(reasoning !== '' && { reasoning }),
    ...(isSigned && { reasoning_details: detailsOf(blocks) }),
  };
}

/** The details of blocks. A text whose signature came later, in a block of its own, is there once. */
function detailsOf(blocks: readonly (ThinkingBlock | RedactedBlock)[]): ReasoningDetail[] {
  const details = blocks.map(detailOf);
  const signed = new Set(details.flatMap(({ text, signature }) => (signature && text) || []));
  return details.filter(
    ({ text, signature, type }) => signature || type !== 'reasoning.text' || !signed.has(text ?? ''),
  );
}

const partsIn = (blocks: readonly Block[]): ContentPart[] =>
  blocks.flatMap(block => ('part' in block ? [block.part] : []));

/** The conversation. */
export const messages = arrayOf(
  message,
  'is required: an array of messages',
  'must have at least one message.',
).transform(given => given.flat());

/** The system prompt as a message; none for an empty one. */
export const system = z
  .unknown()
  .transform((given, issues): Message | undefined => {
    if (given == null || given === '') return undefined;
    if (typeof given === 'string') return { role: 'system', content: given };
    const parts = parsedBy(systemBlocks, given, issues);
    return parts?.length ? { role: 'system', content: contentOf(parts) } : undefined;
  })
  .optional();

/** Puts a mark for the whole prompt where Anthropic does: on its last part, unless that has one. */
export function markLast(conversation: Message[], cache_control: CacheControl): void {
  const last = conversation.at(-1);
  if (!last) return;
  const call = last.tool_calls?.at(-1);
  if (call) {
    call.cache_control ??= cache_control;
    return;
  }
  const parts: ContentPart[] =
    typeof last.content === 'string' ? [{ type: 'text', text: last.content }] : (last.content ?? []);
  const part = parts.at(-1);
  if (!part || (part.type === 'text' && part.text === '')) return;
  part.cache_control ??= cache_control;
  last.content = parts;
}
