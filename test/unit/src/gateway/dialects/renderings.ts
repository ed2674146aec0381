import { messages } from '../../../../../plugins/dialects/messages/index.ts';
import { responses } from '../../../../../plugins/dialects/responses/index.ts';
import { chatCompletions } from '../../../../../src/gateway/dialects/chat-completions/index.ts';
import type { GenerationFormat, Identity } from '../../../../../src/gateway/dialects/define-dialect.ts';
import type { ChatRequest, Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const none = { models: [] };

export const chatOf = (reasoning_key: 'reasoning' | 'reasoning_content' | 'both' = 'reasoning') =>
  chatCompletions.create({ reasoning_key }, none);
export const responsesOf = (reasoning_placement: 'auto' | 'message' | 'item' | 'summary' = 'auto') =>
  responses.create({ reasoning_placement }, none);
export const messageFormat = messages.create({ enabled: true }, none);

/** The reply to a request with `more`. */
export const identity = (more: Partial<ChatRequest> = {}): Identity => ({
  key: '5f2',
  created: 1_795_132_800,
  model: 'aion-labs/aion-3.5',
  request: sampleRequest(more),
  now_s: () => 1_795_132_801,
});

/** Estimated tokens of a prompt. */
export const prompt_tokens = 12;

type Renders = Pick<GenerationFormat, 'renderStream'>;

export const openStream = (format: Renders, more: Partial<ChatRequest> = {}) =>
  format.renderStream(identity({ stream: true, ...more }), () => prompt_tokens);

/** The text of a whole stream. */
export function streamedBy(
  format: Renders,
  chunks: readonly Chunk[],
  more: Partial<ChatRequest> = {},
): string {
  const stream = openStream(format, more);
  return chunks.map(chunk => stream.chunk(chunk)).join('') + stream.end();
}
