import { Refusal } from '../error-body.ts';
import { hashText } from '../seed.ts';
import type { Source } from '../source.ts';
import type { MessagesRequest, Turn } from './messages-request.ts';

const hex = (text: string): string => hashText(text).toString(16).padStart(8, '0');

/** The signature of a thinking text: its hash, and a seal that other signatures lack. */
export function signatureOf(thinking: string): string {
  const hash = hex(thinking);
  return Buffer.from(`simulated.${hash}.${hex(`signed ${hash}`)}`).toString('base64');
}

/** Whether a signature is one of the simulator's, and of this text; the text may have been omitted from the reply. */
function isSigned(thinking: string, signature: string): boolean {
  const [maker, hash = '', seal] = Buffer.from(signature, 'base64').toString().split('.');
  if (maker !== 'simulated' || seal !== hex(`signed ${hash}`)) return false;
  return thinking === '' || hash === hex(thinking);
}

/** Throws if thinking came back changed, or is missing in a tool loop and demanded. */
export function checkSignatures({ options }: Source, { messages, thinking }: MessagesRequest): void {
  const { require_signatures: mode } = options;
  if (mode === 'ignored') return;
  for (const [at, { content }] of messages.entries())
    for (const [part, block] of content.entries())
      if (block.type === 'thinking' && !isSigned(block.thinking, block.signature))
        throw new Refusal(400, `messages.${at}.content.${part}: Invalid \`signature\` in \`thinking\` block`);
  if (mode !== 'demanded' || thinking === undefined || thinking.type === 'disabled') return;
  const begin = messages.findLastIndex(isQuestion);
  for (const [at, { role, content }] of messages.entries()) {
    const type = content[0]?.type;
    if (at < begin || role !== 'assistant' || !content.some(block => block.type === 'tool_use')) continue;
    if (type !== 'thinking' && type !== 'redacted_thinking')
      throw new Refusal(
        400,
        `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
      );
  }
}

/** Whether the user asks something, as opposed to returning results of tools. */
const isQuestion = ({ role, content }: Turn): boolean =>
  role === 'user' && !content.some(({ type }) => type === 'tool_result');
