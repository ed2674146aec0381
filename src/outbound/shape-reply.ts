import type { Choice, Completion } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';
import { shownUsage } from './shown-usage.ts';

/** What the protocol promises of every whole reply, whatever stages are configured: usage (d10), and content that is null beside tool calls only (d11). */
export function shapeReply(exchange: Exchange, reply: Completion): Completion {
  return { choices: reply.choices.map(withContent), usage: reply.usage ?? shownUsage(exchange) };
}

function withContent(choice: Choice): Choice {
  const { message } = choice;
  if (typeof message.content === 'string') return choice;
  return { ...choice, message: { ...message, content: message.tool_calls?.length ? null : '' } };
}
