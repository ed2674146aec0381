import { MessageStream as SdkStream } from '@anthropic-ai/sdk/lib/MessageStream';
import type { Message } from '@anthropic-ai/sdk/resources';
import { type ChatRequest, type Chunk, type Completion, usageOf } from '../../src/canonical.ts';
import { messages } from '../../src/dialects/messages/index.ts';
import { eventsOf } from '../support/gateway-under-test.ts';
import { sampleRequest } from './sample-exchange.ts';

const dialect = messages.create({ enabled: true }, { models: [] });

export const identity = (more: Partial<ChatRequest> = {}) => ({
  key: '5f2',
  created: 1_795_132_800,
  model: 'aion-labs/aion-3.5',
  request: sampleRequest(more),
  now_s: () => 1_795_132_801,
});

export const usage = usageOf(12, 9, 4, { reasoning_tokens: 5 }, 3);

/** The message of a whole reply. */
export const whole = (reply: Completion): Message =>
  JSON.parse(dialect.renderReply(identity(), reply)) as Message;

/** A stream in this format, prompts of 12 tokens. */
export const streamOf = (more: Partial<ChatRequest> = {}) =>
  dialect.renderStream(identity({ stream: true, ...more }), () => 12);

/** The text of a stream. */
export function streamed(chunks: readonly Chunk[], more: Partial<ChatRequest> = {}): string {
  const stream = streamOf(more);
  return chunks.map(chunk => stream.chunk(chunk)).join('') + stream.end();
}

/** What the helper of the real SDK makes of a stream. */
export async function bySdk(text: string): Promise<Message> {
  const lines = eventsOf(text)
    .filter(({ event }) => event !== 'ping')
    .map(({ data }) => `${data}\n`);
  const stream = SdkStream.fromReadableStream(new Blob(lines).stream());
  const message = await stream.finalMessage();
  // The SDK adds fields of its own.
  return JSON.parse(JSON.stringify(message)) as Message;
}
