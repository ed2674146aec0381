import { type ChatRequest, lastText, readChatRequest } from './chat-request.ts';
import { type Directives, findDirectives } from './directives.ts';
import { Refusal } from './error-body.ts';
import type { SimulatorOptions } from './options.ts';

/** Name of the model that answers requests without one when any name is served. */
export const DEFAULT_MODEL = 'simulated-model';

/** A request that was read and checked: all that its reply depends on. */
export interface Source {
  readonly request: ChatRequest;
  readonly model: string;
  readonly directives: Directives;
  /** The server's options, with those of the directives. */
  readonly options: SimulatorOptions;
  /** The request as it arrived, for `echo`. */
  readonly body_text: string;
}

/** Reads a request body; `failure` overrides its directives. Throws a Refusal for a bad one. */
export function readSource(body_text: string, server: SimulatorOptions, failure: Directives): Source {
  const request = readChatRequest(parseBody(body_text));
  const model = request.model ?? server.models[0] ?? DEFAULT_MODEL;
  if (server.models.length > 0 && !server.models.includes(model)) {
    throw new Refusal(404, `The model \`${model}\` does not exist.`, 'model');
  }
  const directives = { ...findDirectives(lastText(request.messages, 'user')), ...failure };
  const options: SimulatorOptions = {
    ...server,
    reasoning: directives.reasoning ?? server.reasoning,
    usage: directives.usage ?? server.usage,
    ttft_ms: directives.ttft ?? server.ttft_ms,
    tokens_per_second: directives.tps ?? server.tokens_per_second,
    tokens_per_chunk: directives.chunk ?? server.tokens_per_chunk,
  };
  return { request, model, directives, options, body_text };
}

function parseBody(body_text: string): unknown {
  try {
    return JSON.parse(body_text);
  } catch (error) {
    throw new Refusal(400, `JSON decode error: ${(error as Error).message}`);
  }
}
