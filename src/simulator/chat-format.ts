import { randomUUID } from 'node:crypto';
import { readChatRequest } from './chat-request.ts';
import { renderChunks } from './chunks.ts';
import { renderCompletion } from './completion.ts';
import { Refusal } from './error-body.ts';
import type { Source } from './source.ts';
import type { WireFormat } from './wire-format.ts';

/** Chat completions as vLLM speaks them. */
export const chatFormat: WireFormat = {
  errors: 'vllm',
  read: readChatRequest,
  check: checkReasoning,
  directives: () => ({}),
  head(model, isStream) {
    const id = `chatcmpl-${randomUUID().replaceAll('-', '')}`;
    const object = isStream ? 'chat.completion.chunk' : 'chat.completion';
    const created = Math.floor(Date.now() / 1_000);
    const head = `${JSON.stringify({ id, object, created, model }).slice(0, -1)},`;
    return isStream ? `data: ${head}` : head;
  },
  completion: renderCompletion,
  events: renderChunks,
  done: 'data: [DONE]\n\n',
};

/** Throws, as DeepSeek answers, if an assistant's turn that called tools came back without its reasoning. */
function checkReasoning({ request, options }: Source): void {
  const { require_reasoning: field, reasoning } = options;
  const thinks = reasoning !== 'none' && request.enable_thinking && request.reasoning_effort !== 'none';
  if (field === 'none' || !thinks) return;
  const has = (fields: readonly string[]) => (field === 'any' ? fields.length > 0 : fields.includes(field));
  if (
    request.messages.every(
      ({ role, calls, reasoning }) => role !== 'assistant' || calls === 0 || has(reasoning),
    )
  )
    return;
  const name = field === 'any' ? 'reasoning_content' : field;
  throw new Refusal(400, `The \`${name}\` in the thinking mode must be passed back to the API.`, 'messages');
}
