import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { Chunk, Completion } from '../canonical.ts';
import { refusal } from '../errors.ts';
import { EventTooLarge, type SseEvent, SseParser } from '../sse/parse.ts';
import type { Adapter, StreamDecoder } from './adapter.ts';
import { failureOf } from './failure.ts';
import { textOf } from './read-body.ts';

export interface ReplyLimits {
  readonly max_event_bytes: number;
  readonly max_reply_bytes: number;
}

type Decoding = Pick<Adapter, 'decodeReply' | 'openStream'>;

/** A whole reply's bytes in the canonical form. */
export async function decodeWhole(
  bytes: AsyncIterable<Buffer>,
  adapter: Decoding,
  limits: ReplyLimits,
): Promise<Completion> {
  const text = await textOf(bytes, limits.max_reply_bytes);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw refusal('provider_invalid', { cause });
  }
  return adapter.decodeReply(body);
}

/** A stream's bytes as canonical chunks. `onDone` is called at `[DONE]`, after which nothing is read. */
export async function* decodeStream(
  bytes: AsyncIterable<Buffer>,
  headers: IncomingHttpHeaders,
  adapter: Decoding,
  limits: ReplyLimits,
  onDone: () => void,
): AsyncGenerator<Chunk> {
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/html')) throw refusal('provider_invalid', { cause: new Error('an HTML page') });
  // Some servers answer a streamed request with a plain reply (protocol k4).
  if (type.startsWith('application/json')) {
    yield chunkOf(await decodeWhole(bytes, adapter, limits));
    return;
  }
  const decoder = adapter.openStream();
  yield* decodeEvents(bytes, decoder, limits, onDone);
  if (!decoder.complete)
    throw refusal('provider_broke_off', { cause: new Error('ended without finish_reason') });
}

async function* decodeEvents(
  bytes: AsyncIterable<Buffer>,
  decoder: StreamDecoder,
  { max_event_bytes, max_reply_bytes }: ReplyLimits,
  onDone: () => void,
): AsyncGenerator<Chunk> {
  const parser = new SseParser(max_event_bytes);
  // Joins characters that were cut between two reads.
  const characters = new StringDecoder('utf8');
  let total_bytes = 0;
  let atEnd = false;
  try {
    for await (const part of bytes) {
      total_bytes += part.length;
      if (total_bytes > max_reply_bytes) {
        throw refusal('provider_invalid', { cause: new Error(`a reply over ${max_reply_bytes} bytes`) });
      }
      for (const event of parser.feed(characters.write(part))) {
        if (isDone(event)) return onDone();
        yield* decoder.decode(event);
      }
    }
    atEnd = true;
    for (const event of parser.end()) if (!isDone(event)) yield* decoder.decode(event);
  } catch (thrown) {
    if (thrown instanceof EventTooLarge) throw refusal('provider_invalid', { cause: thrown });
    // Every choice had ended: a cut before `[DONE]` or within it takes nothing from the client (protocol c3).
    const { kind } = failureOf(thrown, true);
    if (!decoder.complete || !(kind === 'broken' || (atEnd && kind === 'invalid'))) throw thrown;
  }
}

const isDone = ({ data }: SseEvent): boolean => data === '[DONE]' || data.trim() === '[DONE]';

/** A whole reply as the one chunk of a stream. */
function chunkOf({ choices, usage }: Completion): Chunk {
  return {
    choices: choices.map(({ index, message, finish_reason, logprobs }) => {
      const { tool_calls, ...rest } = message;
      const calls = tool_calls?.map((call, at) => ({ index: at, ...call }));
      const delta = { ...rest, ...(calls && { tool_calls: calls }) };
      return { index, delta, finish_reason, ...(logprobs != null && { logprobs }) };
    }),
    ...(usage && { usage }),
  };
}
