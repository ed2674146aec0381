import { hash } from 'node:crypto';
import { type ChatRequest, textOf } from '../../canonical.ts';

/** Prompts may be huge; what begins alike for this long is one conversation. */
const max_characters = 8192;

/**
 * A conversation by its beginning, as 32 bits: everything up to its first user message, which all its later turns repeat, and which is
 * what a prefix cache holds.
 */
export function conversationOf({ messages }: ChatRequest): number {
  const first = messages.findIndex(({ role }) => role === 'user');
  const beginning = first === -1 ? messages.slice(0, 1) : messages.slice(0, first + 1);
  const text = beginning.map(({ role, content }) => `${role}\n${cut(textOf(content))}`).join('\n\n');
  return bitsOf(text);
}

/** 32 bits of a text. */
export const bitsOf = (text: string): number => Number.parseInt(hash('sha1', text).slice(0, 8), 16) | 0;

/** A text's beginning and length: long prompts that differ late do so by their length mostly. */
const cut = (text: string): string =>
  text.length <= max_characters ? text : `${text.slice(0, max_characters)}\n${text.length}`;
