import type { z } from 'zod';
import type { Message, TextPart } from '../../canonical.ts';
import { fault } from '../request-schema/first-fault.ts';
import type { Item } from './input-items.ts';

const noCall =
  'must be the call_id of a function_call before it; replies are not stored here, so send it as well';

/**
 * Items as chat messages. An assistant's texts and calls up to their outputs become one message, because servers require the outputs
 * directly after the calls.
 */
export function messagesOf(items: readonly Item[], issues: z.RefinementCtx): Message[] {
  const messages: Message[] = [];
  const called = new Set<string>();
  /** The assistant's message to which calls are added, until another message comes. */
  let turn: Message | undefined;
  for (const [index, item] of items.entries()) {
    if (item === undefined) continue;
    if ('output' in item) {
      turn = undefined;
      messages.push(item.output);
      // Replies are not stored, so the model would see an output without its call.
      if (!called.has(item.output.tool_call_id ?? '')) return fault(issues, noCall, index, 'call_id');
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

type Content = Message['content'];

/** Joins two contents. Adds to the first's parts in place, as a client may send many. */
function joined(first: Content, second: Content): Content {
  if (!first) return second;
  if (!second) return first;
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n${second}`;
  const parts = typeof first === 'string' ? [textPart(first)] : first;
  for (const part of typeof second === 'string' ? [textPart(second)] : second) parts.push(part);
  return parts;
}

const textPart = (text: string): TextPart => ({ type: 'text', text });
