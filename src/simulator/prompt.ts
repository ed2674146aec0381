import type { ChatMessage, ChatRequest } from './chat-request.ts';

/** The conversation in a plain chat template, tools first; it adds about four tokens to each message's text. */
export function renderPrompt(request: ChatRequest): string {
  const tools = request.tools.length > 0 ? `<|tools|>\n${JSON.stringify(request.tools)}<|end|>\n` : '';
  const turns = request.messages.map(message => `<|${message.role}|>\n${message.text}<|end|>\n`);
  return `${tools}${turns.join('')}<|assistant|>\n`;
}

/** Text of the last message of a role, or '' when there is none. */
export function lastText(messages: readonly ChatMessage[], role: string): string {
  return messages.findLast(message => message.role === role)?.text ?? '';
}
