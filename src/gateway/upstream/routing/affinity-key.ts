import { hash } from 'node:crypto';
import { type ChatRequest, textOf } from '../../exchange/canonical.ts';

/** Characters of a message that count. Longer messages that begin alike differ only by their length. */
const max_characters = 8192;

/** 32-bit key of a conversation: everything up to its first user message, which all its later turns repeat and a prefix cache holds. */
export function affinityKeyOf({ messages }: ChatRequest): number {
  const first = messages.findIndex(({ role }) => role === 'user');
  const beginning = messages.slice(0, Math.max(first, 0) + 1);
  return bitsOf(beginning.map(({ role, content }) => `${role}\n${cut(textOf(content))}`).join('\n\n'));
}

/** 32-bit hash of a text. */
export const bitsOf = (text: string): number => Number.parseInt(hash('sha1', text).slice(0, 8), 16) | 0;

const cut = (text: string): string =>
  text.length <= max_characters ? text : `${text.slice(0, max_characters)}\n${text.length}`;
