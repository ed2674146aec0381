import { createHash } from 'node:crypto';
import { isObject, type Json, UpstreamError, type UpstreamRequest } from '../../../src/plugin.ts';

/** The only form of a call's id that the API takes back. */
const id_form = /^[a-zA-Z0-9]{9}$/;

/**
 * A request as Mistral's API takes it, which refuses unknown fields with 422: `random_seed`, no `stream_options` (usage is always in the
 * last chunk), ids of calls with nine letters and digits, and reasoning as a part of the content.
 */
export function forMistral(encoded: UpstreamRequest): UpstreamRequest {
  const { stream_options: _, seed, messages, ...body } = encoded.body;
  return {
    ...encoded,
    body: {
      ...body,
      ...(seed !== undefined && { random_seed: seed }),
      messages: (messages as readonly Json[]).map(message => withThinking(withShortIds(message))),
    },
  };
}

function withShortIds(message: Json): Json {
  const { tool_calls: calls, tool_call_id: id } = message;
  if (typeof id === 'string') return { ...message, tool_call_id: shortId(id) };
  if (!Array.isArray(calls)) return message;
  const tool_calls = (calls as Json[]).map(call => ({ ...call, id: shortId(String(call.id)) }));
  return { ...message, tool_calls };
}

/** An id of the form that is taken: itself, or one made of it, the same in the call and in its result. */
const shortId = (id: string): string =>
  id_form.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9);

function withThinking({ reasoning_content: thoughts, ...message }: Json): Json {
  if (typeof thoughts !== 'string') return message;
  const { content } = message;
  const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: thoughts }], closed: true };
  return { ...message, content: [thinking, ...(Array.isArray(content) ? content : text)] };
}

/** The message of a validation error, which is an object with FastAPI's `detail` here. */
export function mistralMessage(body: unknown): string | undefined {
  const message = isObject(body) ? body.message : undefined;
  return isObject(message) ? UpstreamError.in({ detail: message.detail })?.message : undefined;
}
