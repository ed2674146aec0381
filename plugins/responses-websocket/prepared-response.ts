import { randomBytes } from 'node:crypto';
import type { Clock, Completion, GenerationFormat, Json, RequestContext } from '../../src/plugin.ts';

/** Stands for the input of a request that only declares its tools so far. */
const no_input = 'null';

/** A reply that has nothing, which no provider was asked for. */
const nothing = {
  choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    prompt_tokens_details: { cached_tokens: 0 },
  },
} as const satisfies Completion;

/**
 * A response for which nothing is generated: its request is checked, so that its input can be remembered by the connection. Throws a
 * GatewayError for a request that would be refused for its form.
 */
export function preparedResponse(
  format: GenerationFormat,
  body: Json,
  input: string,
  context: RequestContext,
  clock: Clock,
): Json {
  const given = { ...body, previous_response_id: undefined };
  const request = format.parse({ ...given, input: input ? JSON.parse(`[${input}]`) : no_input }, context);
  const now_s = () => Math.floor(clock.epoch_ms() / 1000);
  const key = randomBytes(16).toString('hex');
  const identity = { key, created: now_s(), model: request.model, request, now_s };
  return { ...JSON.parse(format.renderReply(identity, nothing)), output: [] };
}

/** The events of a response that has no items. */
export const eventsOf = (response: Json): string[] =>
  [
    { type: 'response.created', response: { ...response, status: 'in_progress', completed_at: null } },
    { type: 'response.completed', response },
  ].map(({ type, response }, sequence_number) => JSON.stringify({ type, sequence_number, response }));
