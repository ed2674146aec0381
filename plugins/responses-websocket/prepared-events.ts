import { randomBytes } from 'node:crypto';
import type { Chunk, Clock, GenerationFormat, Json, RequestContext } from '../../src/plugin.ts';

/** Stands for the input of a request that only declares its tools so far. */
const no_input = 'null';

/** The end of a reply that has nothing else. */
const chunk: Chunk = {
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    prompt_tokens_details: { cached_tokens: 0 },
  },
};

/**
 * The events of a response for which nothing is generated: its request is checked, and its input remembered by the connection. Throws a
 * GatewayError for a request that would be refused for its form.
 */
export function preparedEvents(
  format: GenerationFormat,
  body: Json,
  input: string,
  context: RequestContext,
  clock: Clock,
): string {
  const given = { ...body, previous_response_id: undefined };
  const request = format.parse({ ...given, input: input ? JSON.parse(`[${input}]`) : no_input }, context);
  const now_s = () => Math.floor(clock.epoch_ms() / 1000);
  const key = randomBytes(16).toString('hex');
  const identity = { key, created: now_s(), model: request.model, request, now_s };
  const stream = format.renderStream(identity, () => 0);
  return stream.chunk(chunk) + stream.end();
}
