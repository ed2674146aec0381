import type { Choice, Completion } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';
import { shownUsage } from './shown-usage.ts';

/** Applies to a whole reply what the protocol promises with any stages: usage (d10), and null content only beside tool calls (d11). */
export function shapeReply(exchange: Exchange, reply: Completion): Completion {
  return { choices: reply.choices.map(withContent), usage: reply.usage ?? shownUsage(exchange) };
}

function withContent(choice: Choice): Choice {
  const { message } = choice;
  if (typeof message.content === 'string') return choice;
  return { ...choice, message: { ...message, content: message.tool_calls?.length ? null : '' } };
}
