import { randomUUID } from 'node:crypto';
import type { Json } from '../common/json-object.ts';
import { chatFormat } from './chat-format.ts';
import { readChatRequest } from './chat-request.ts';
import { renderChunks, type StreamEvent } from './chunks.ts';
import { renderCompletion } from './completion.ts';
import { inputsIn } from './inputs.ts';
import type { Reply } from './reply.ts';
import type { WireFormat } from './wire-format.ts';

/** OpenAI's older completions, as vLLM speaks them: what follows a prompt is the answer to it in a chat, without reasoning. */
export const completionsFormat: WireFormat = {
  ...chatFormat,
  read(body) {
    const { prompt, max_tokens, n, messages: _, ...rest } = Object(body) as Json;
    const prompts = inputsIn(prompt, 'prompt');
    const content = prompts.join('\n');
    const choices = typeof n === 'number' ? n * prompts.length : prompts.length;
    const asked = {
      ...rest,
      n: choices,
      max_tokens: max_tokens || 16,
      messages: [{ role: 'user', content }],
    };
    return { ...readChatRequest(asked), enable_thinking: false };
  },
  check: () => {},
  head(model, isStream) {
    const id = `cmpl-${randomUUID().replaceAll('-', '')}`;
    const created = Math.floor(Date.now() / 1_000);
    const head = `${JSON.stringify({ id, object: 'text_completion', created, model }).slice(0, -1)},`;
    return isStream ? `data: ${head}` : head;
  },
  completion: reply => withTexts(renderCompletion(reply)),
  *events(reply: Reply): Generator<StreamEvent, void> {
    // The first of a choice in a chat.
    for (const event of renderChunks(reply))
      if (!event.text.includes('"role"')) yield { ...event, text: `${withTexts(event.text)}\n\n` };
  },
};

/** Members of a reply or event of a chat, without the opening brace, with choices as completions have them. */
function withTexts(members: string): string {
  const { choices, ...rest } = JSON.parse(`{${members}`) as { choices: Json[] };
  const texts = choices.map(({ message, delta, token_ids: _, ...choice }) => {
    const { content } = Object(message ?? delta) as Json;
    return { ...choice, text: content ?? '' };
  });
  return JSON.stringify({ choices: texts, ...rest }).slice(1);
}
