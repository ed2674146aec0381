import type { z } from 'zod';
import type { Message, TextPart } from '../../canonical.ts';
import type { Item } from './input-items.ts';

/**
 * Items as chat messages. What an assistant said and called before the outputs came is one message: servers want the outputs directly
 * after it. A function call that follows an assistant's text belongs to it, as does a text between calls.
 */
export function messagesOf(items: readonly Item[], issues: z.RefinementCtx): Message[] {
  const messages: Message[] = [];
  const called = new Set<string>();
  /** The assistant's message to which calls are added, until somebody else speaks. */
  let turn: Message | undefined;
  for (const [index, item] of items.entries()) {
    if (item === undefined) continue;
    if ('output' in item) {
      turn = undefined;
      messages.push(item.output);
      if (!isAnswer(item.output, called, index, issues)) break;
    } else if ('call' in item) {
      if (!turn) messages.push((turn = { role: 'assistant', content: null }));
      turn.content ||= null;
      turn.tool_calls ??= [];
      turn.tool_calls.push(item.call);
      called.add(item.call.id);
    } else if (item.role === 'assistant' && turn?.tool_calls && !item.tool_calls) {
      turn.content = joined(turn.content, item.content) || null;
    } else {
      messages.push(item);
      for (const { id } of item.tool_calls ?? []) called.add(id);
      turn = item.role === 'assistant' ? item : undefined;
    }
  }
  return messages;
}

/** Nothing is kept here between requests, so an output without its call would answer something that the model has never seen. */
function isAnswer(
  { tool_call_id = '' }: Message,
  called: ReadonlySet<string>,
  index: number,
  issues: z.RefinementCtx,
): boolean {
  if (called.has(tool_call_id)) return true;
  const message =
    'must be the call_id of a function_call before it; replies are not stored here, so send it as well';
  issues.addIssue({ code: 'custom', path: [index, 'call_id'], message });
  return false;
}

type Content = Message['content'];

/** One text after the other. Parts are added to those that are there: a client may send many. */
function joined(first: Content, second: Content): Content {
  if (!first) return second;
  if (!second) return first;
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n${second}`;
  const parts = typeof first === 'string' ? [textPart(first)] : first;
  for (const part of typeof second === 'string' ? [textPart(second)] : second) parts.push(part);
  return parts;
}

const textPart = (text: string): TextPart => ({ type: 'text', text });
