import { invalidField, type Message, toolArguments } from '../../../src/plugin.ts';
import { type Block, callIdOf } from './blocks.ts';

/** A conversation in the API's form: alternating turns of blocks, with the system prompt apart. */
export interface Conversation {
  readonly system?: string;
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
function systemOf(given: readonly Message[]): string {
  const words = given
    .filter(({ role }) => role === 'system')
    .map(({ content }) => textsOf(content).join('\n'));
  return words.filter(text => text !== '').join('\n\n');
}

function contentOf(message: Message, at: number, restore: Restore): readonly Block[] {
  const texts = textsOf(message.content).map(text => ({ type: 'text', text }));
  if (message.role === 'tool') {
    const content = texts.length > 0 && { content: texts };
    return [{ type: 'tool_result', tool_use_id: callIdOf(message.tool_call_id ?? ''), ...content }];
  }
  if (message.role !== 'assistant') return texts;
  const calls = (message.tool_calls ?? []).map((call, number) => ({
    type: 'tool_use',
    id: callIdOf(call.id),
    name: call.function.name,
    input: toolArguments(call, `messages[${at}].tool_calls[${number}].function.arguments`),
  }));
  return restore(message, at, [...texts, ...calls]);
}

/** The texts of a message that are not blank. */
function textsOf(content: Message['content']): string[] {
  const texts =
    typeof content === 'string'
      ? [content]
      : (content ?? []).flatMap(part => (part.type === 'text' ? part.text : []));
  return texts.filter(text => text.trim() !== '');
}

const resultsFirst = (content: readonly Block[]): Block[] => [
  ...content.filter(({ type }) => type === 'tool_result'),
  ...content.filter(({ type }) => type !== 'tool_result'),
];
