import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { OpenAiStreamDecoder } from '../../../../../src/gateway/upstream/openai/openai-stream-decoder.ts';

/** An event with this body. */
export const event = (body: unknown) => ({ data: JSON.stringify(body) });

/** A chunk with one choice, as a server sends it. */
export const wire = (delta: object, finish_reason: string | null = null, rest: object = {}) =>
  event({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...rest });

/** What one decoder makes of these events. */
export function decoded(
  events: readonly { data: string; event?: string }[],
  decoder = new OpenAiStreamDecoder(),
): Chunk[] {
  return events.flatMap(one => decoder.decode(one));
}
