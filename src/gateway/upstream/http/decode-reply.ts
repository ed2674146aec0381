import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type Json } from '../../../common/json-object.ts';
import { jsonSizeOf } from '../../../common/json-size.ts';
import type { Chunk, Completion } from '../../exchange/canonical.ts';
import { refusal } from '../../exchange/errors.ts';
import type { Adapter } from '../adapter.ts';
import { checkReply } from '../reply-bounds.ts';
import { textOf } from './reply-body.ts';
import type { Body } from './upstream-call.ts';

/**
 * A whole reply's text in the canonical form. Throws `provider_invalid` for what is not JSON, would be too large in memory, or has more
 * choices, calls or parts than a reply may.
 */
export function decodeText(text: string, adapter: Pick<Adapter, 'decodeReply'>): Completion {
  const reply = adapter.decodeReply(parsedJson(text));
  checkReply(reply);
  return reply;
}

/** A whole reply's bytes in the canonical form. */
export async function decodeWhole(
  body: Body,
  adapter: Pick<Adapter, 'decodeReply'>,
  { max_reply_bytes }: { readonly max_reply_bytes: number },
): Promise<Completion> {
  return decodeText(await textOf(body, max_reply_bytes), adapter);
}

/** The object in an event's data. Throws `provider_invalid` for anything else. */
export function eventObject(data: string): Json {
  const event = parsedJson(data);
  // What begins with a brace is an object, or no JSON.
  if (data.startsWith('{') || isObject(event)) return event as Json;
  throw refusal('provider_invalid', { cause: new Error('an event that is not an object') });
}

/** Whatever a text of this length says, `JSON.parse` makes at most 25 MB of it; few replies, and no event by default, are longer. */
const max_uncounted_characters = 1_048_576;

/** Enough for 32,768 tokens with log probabilities of twenty alternatives each, which take 150 MB in memory. */
const max_values = { values: 6_000_000, keys: 2_500_000 };
const max_containers = 1_500_000;
/** An object or array takes some 60 bytes in memory, be it written with two: short ones are believed up to a share of the text. */
const min_container_characters = 12;
const small_containers = 65_536;

/** How deep the values are is checked of those that are kept, by `writable`: a walk over all would take as long as `JSON.parse`. */
function parsedJson(text: string): unknown {
  if (text.length > max_uncounted_characters && isTooLarge(text))
    throw refusal('provider_invalid', { cause: new Error('a reply of too many values') });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refusal('provider_invalid', { cause });
  }
}

/** Whether parsed JSON would take too much memory for its length. Looks no further than the first value too many. */
function isTooLarge(text: string): boolean {
  const believed = small_containers + Math.floor(text.length / min_container_characters);
  const limits = { ...max_values, containers: Math.min(max_containers, believed) };
  const { values, keys, containers } = jsonSizeOf(Buffer.from(text), limits);
  return values > limits.values || keys > limits.keys || containers > limits.containers;
}

/** Whether a streamed request was answered with events; some servers send a plain reply. */
export function isEventStream(headers: IncomingHttpHeaders): boolean {
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/html')) throw refusal('provider_invalid', { cause: new Error('an HTML page') });
  return !type.startsWith('application/json');
}

/** A whole reply as the one chunk of a stream. */
export function chunkOf({ choices, usage }: Completion): Chunk {
  return {
    choices: choices.map(({ index, message, finish_reason, stop_sequence, logprobs }) => {
      const { tool_calls, ...rest } = message;
      const calls = tool_calls?.map((call, at) => ({ index: at, ...call }));
      const delta = { ...rest, ...(calls && { tool_calls: calls }) };
      return {
        index,
        delta,
        finish_reason,
        ...(stop_sequence !== undefined && { stop_sequence }),
        ...(logprobs != null && { logprobs }),
      };
    }),
    ...(usage && { usage }),
  };
}
