import { lastText, stepOf } from './chat-request.ts';
import { type Directives, findDirectives } from './directives.ts';
import { Refusal } from './error-body.ts';
import type { SimulatorOptions } from './options.ts';
import type { Source } from './source.ts';
import type { WireFormat } from './wire-format.ts';

/** Name of the model that answers requests without one when any name is served. */
export const DEFAULT_MODEL = 'simulated-model';

/** Reads a request body; `failure` overrides its directives. Throws a Refusal for a bad one. */
export function readSource(
  format: WireFormat,
  body_text: string,
  server: SimulatorOptions,
  failure: Directives,
): Source {
  const body = parseBody(body_text);
  const request = format.read(body);
  const model = request.model ?? server.models[0] ?? DEFAULT_MODEL;
  if (server.models.length > 0 && !server.models.includes(model)) {
    throw new Refusal(404, `The model \`${model}\` does not exist.`, 'model');
  }
  const { messages } = request;
  const own = { ...findDirectives(lastText(messages, 'user'), stepOf(messages)), ...failure };
  const directives = { ...format.directives(own), ...own };
  const options: SimulatorOptions = {
    ...server,
    reasoning: directives.reasoning ?? server.reasoning,
    require_reasoning: directives.require_reasoning ?? server.require_reasoning,
    require_signatures: directives.require_signatures ?? server.require_signatures,
    usage: directives.usage ?? server.usage,
    cached_tokens: directives.cached_tokens ?? server.cached_tokens,
    cache_creation: directives.cache_creation ?? server.cache_creation,
    ttft_ms: directives.ttft ?? server.ttft_ms,
    tokens_per_second: directives.tps ?? server.tokens_per_second,
    tokens_per_chunk: directives.chunk ?? server.tokens_per_chunk,
  };
  if (options.images === 'refused' && messages.some(({ images }) => images.length > 0))
    throw new Refusal(400, `${model} is not a multimodal model`, 'messages');
  const source = { request, model, directives, options, body_text };
  format.check(source, body);
  return source;
}

/** Parses a body. Throws a Refusal for what is not JSON. */
export function parseBody(body_text: string): unknown {
  try {
    return JSON.parse(body_text);
  } catch (error) {
    throw new Refusal(400, `JSON decode error: ${(error as Error).message}`);
  }
}
