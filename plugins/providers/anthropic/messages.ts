import {
  type CacheControl,
  type ContentPart,
  invalidField,
  type Message,
  toolArguments,
} from '../../../src/plugin.ts';
import { type Block, callIdOf, native_format } from './blocks.ts';
import { documentOf } from './document.ts';

/** A conversation in the API's form: alternating turns of blocks, with the system prompt apart. */
export interface Conversation {
  /** Blocks where one of them has a cache mark. */
  readonly system?: string | readonly Block[];
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] }[];
}

/** Returns the assistant's turn to send at this position, given the one rebuilt from its message. */
export type Restore = (message: Message, at: number, rebuilt: readonly Block[]) => readonly Block[];

/**
 * Converts the canonical messages. Adjacent messages of one role become one turn, tool results first; empty messages are left out, since
 * the API rejects them. Throws `invalid_request` for what the API cannot express.
 */
export function conversationOf(given: readonly Message[], restore: Restore): Conversation {
  const spoken = given.filter(({ role }) => role !== 'system');
  const isSystemAlone = spoken.length === 0;
  const turns: { role: 'user' | 'assistant'; content: Block[] }[] = [];
  for (const [at, message] of given.entries()) {
    if (message.role === 'system' && !isSystemAlone) continue;
    const content = contentOf(message, at, restore);
    if (content.length === 0) continue;
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    // One by one: a client may send more parts than a call accepts arguments.
    if (last?.role === role) for (const block of content) last.content.push(block);
    else turns.push({ role, content: [...content] });
  }
  if (turns.length === 0) throw invalidField('messages', 'must have at least one message that is not empty.');
  for (const turn of turns) if (turn.role === 'user') turn.content = resultsFirst(turn.content);
  const system = isSystemAlone ? '' : systemOf(given);
  return { ...(system !== '' && { system }), messages: turns };
}

/** The system prompt, from wherever its messages are. */
function systemOf(given: readonly Message[]): string | Block[] {
  const prompts = given.filter(({ role }) => role === 'system').map(({ content }) => blocksOf(content));
  if (prompts.flat().some(({ cache_control }) => cache_control)) return prompts.flat();
  return prompts
    .map(blocks => blocks.map(({ text }) => text).join('\n'))
    .filter(text => text !== '')
    .join('\n\n');
}

function contentOf(message: Message, at: number, restore: Restore): readonly Block[] {
  const blocks = blocksOf(message.content);
  if (message.role === 'tool') return [resultOf(message, blocks)];
  if (message.role !== 'assistant') return blocks;
  const calls = (message.tool_calls ?? []).map((call, number) => ({
    type: 'tool_use',
    id: callIdOf(call.id),
    name: call.function.name,
    input: toolArguments(call, `messages[${at}].tool_calls[${number}].function.arguments`),
    ...markOf(call),
  }));
  return restore(message, at, [...blocks, ...calls]);
}

/** The result of a tool. A mark on the last of its parts is one on the whole. */
function resultOf({ tool_call_id = '', is_error }: Message, blocks: readonly Block[]): Block {
  const { cache_control, ...last }: Partial<Block> = blocks.at(-1) ?? {};
  return {
    type: 'tool_result',
    tool_use_id: callIdOf(tool_call_id),
    ...(blocks.length > 0 && { content: [...blocks.slice(0, -1), last] }),
    ...(is_error && { is_error }),
    ...(cache_control !== undefined && { cache_control }),
  };
}

/** The parts of a message that are not blank text. */
function blocksOf(content: Message['content']): Block[] {
  const parts: ContentPart[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  return parts.flatMap(part => {
    if (part.type === 'image_url')
      return { type: 'image', source: sourceOf(part.image_url.url), ...markOf(part) };
    if (part.native?.format === native_format) return part.native.item as Block;
    const document = part.native && documentOf(part.native.item);
    if (document) return { ...document, ...markOf(part) };
    if (part.tool_reference !== undefined)
      return { type: 'tool_reference', tool_name: part.tool_reference, ...markOf(part) };
    return part.text.trim() === '' ? [] : { type: 'text', text: part.text, ...markOf(part) };
  });
}

/** An address, or the image itself from a `data:` URL. */
function sourceOf(url: string): object {
  const [, media_type] = /^data:([^;,]+);base64,/.exec(url.slice(0, 100)) ?? [];
  if (media_type === undefined) return { type: 'url', url };
  return { type: 'base64', media_type, data: url.slice(url.indexOf(',') + 1) };
}

const markOf = ({ cache_control }: { readonly cache_control?: CacheControl }) =>
  cache_control ? { cache_control } : {};

const resultsFirst = (content: readonly Block[]): Block[] => [
  ...content.filter(({ type }) => type === 'tool_result'),
  ...content.filter(({ type }) => type !== 'tool_result'),
];
