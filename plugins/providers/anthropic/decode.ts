import {
  atMost,
  type Completion,
  finishOf,
  isObject,
  type Json,
  max_parts,
  ReplyAssembler,
  refusal,
  UpstreamError,
} from '../../../src/plugin.ts';
import { textOf } from './blocks.ts';
import type { ThinkingMemory } from './history.ts';
import { AnthropicStream } from './stream.ts';

/** Messages about money, for which the operator is responsible although the API answers 400. */
const billing = /credit balance|usage limit|spend(?:ing)? limit|billing/i;

/** Standard status of an error reply: the API answers 400 also if the account has no credit. */
export function errorStatus(status: number, body: unknown): number {
  if (status !== 400 || !isObject(body) || !isObject(body.error)) return status;
  return billing.test(textOf(body.error.message)) ? 402 : status;
}

/** Decodes a whole message as the stream that says the same; stores the thinking behind tool calls in `memory`. */
export function decodeReply(body: unknown, memory: ThinkingMemory): Completion {
  const error = UpstreamError.in(body);
  if (error) throw error;
  if (!isObject(body) || !Array.isArray(body.content))
    throw refusal('provider_invalid', { cause: new Error('a message without content') });
  if (!finishOf(body.stop_reason))
    throw refusal('provider_invalid', { cause: new Error('a message without stop_reason') });
  const stream = new AnthropicStream(memory);
  const reply = new ReplyAssembler();
  for (const event of eventsOf(body, atMost(body.content, max_parts, 'blocks')))
    for (const chunk of stream.chunksOf(event)) reply.add(chunk);
  return reply.reply();
}

function* eventsOf(message: Json, content: readonly unknown[]): Generator<Json> {
  yield { type: 'message_start', message };
  for (const [index, content_block] of content.entries()) {
    yield { type: 'content_block_start', index, content_block };
    yield { type: 'content_block_stop', index };
  }
  yield { type: 'message_delta', delta: message, usage: message.usage };
}
