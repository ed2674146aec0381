import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { encodeOpenAi } from '../../gateway/upstream/openai/openai-format.ts';
import type { OpenAiMessageForm } from '../../gateway/upstream/openai/openai-messages.ts';

/** The handler may be in front of any server: reasoning has both of its names, and what is signed stays as it came. */
const handlerMessages: OpenAiMessageForm = {
  reasoningNames: ['reasoning', 'reasoning_content'],
  reasoningDetails: message => message.reasoning_details,
};

/**
 * Request body for the handler, with the model name that the client used. If the reply is read here, asks for usage to meter it; otherwise
 * the client gets only what it asked for.
 */
export function foreignBody({ request, model }: Exchange, metered: boolean): Record<string, unknown> {
  const target = { model: request.model, effortMap: {}, extraParameters: model?.extra_parameters ?? [] };
  const body = encodeOpenAi(request, target, handlerMessages);
  const effort = request.reasoning_effort;
  if (effort !== undefined) Object.assign(body, model?.effort_map[effort] ?? { reasoning_effort: effort });
  if (!request.stream) return body;
  const { continuous_usage_stats, ...options } = request.stream_options ?? {};
  // With several choices, servers differ in whether running usage is of one choice or of all.
  const running = continuous_usage_stats !== undefined && (!metered || (request.n ?? 1) === 1);
  const stream_options = {
    ...options,
    ...(running && { continuous_usage_stats }),
    ...(metered && { include_usage: true }),
  };
  if (Object.keys(stream_options).length > 0) body.stream_options = stream_options;
  return body;
}
