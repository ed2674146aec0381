import type { IncomingHttpHeaders } from 'node:http';
import type { Chunk, Completion } from '../../canonical.ts';
import { exceeds, jsonSizeOf } from '../../dialects/json-size.ts';
import { refusal } from '../../errors.ts';
import { isObject, type Json } from '../../json-object.ts';
import type { Adapter } from '../adapter.ts';
import { textOf } from './reply-body.ts';
import type { Body } from './upstream-call.ts';

/** Enough for 32,768 tokens with log probabilities of twenty alternatives each; a reply of 64 MiB could have seven times as many. */
const max_reply = { values: 6_000_000, keys: 4_000_000 };

/** A whole reply's text in the canonical form. Throws `provider_invalid` for what is not JSON, or would be too large in memory. */
export function decodeText(text: string, adapter: Pick<Adapter, 'decodeReply'>): Completion {
  if (exceeds(text, max_reply))
    throw refusal('provider_invalid', { cause: new Error('a reply of too many values') });
  return adapter.decodeReply(parsedJson(text));
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
  if (isObject(event)) return event;
  throw refusal('provider_invalid', { cause: new Error('an event that is not an object') });
}

const unlimited = { values: Number.POSITIVE_INFINITY, keys: Number.POSITIVE_INFINITY };

/** Far deeper than any reply, and not too deep for `JSON.stringify` and `String`, which have a limit that `JSON.parse` has not. */
const max_levels = 1000;

function parsedJson(text: string): unknown {
  if (text.length > 2 * max_levels && jsonSizeOf(Buffer.from(text), unlimited).levels > max_levels)
    throw refusal('provider_invalid', { cause: new Error('JSON that is nested too deeply') });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refusal('provider_invalid', { cause });
  }
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
