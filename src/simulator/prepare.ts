import { type ChatRequest, readChatRequest } from './chat-request.ts';
import { type Directives, findDirectives } from './directives.ts';
import type { SimulatorOptions } from './options.ts';
import { lastText } from './prompt.ts';
import { Refusal } from './refusal.ts';
import { planReply, type Reply } from './reply.ts';

/** Name of the model that answers requests without one when any name is served. */
export const DEFAULT_MODEL = 'simulated-model';

/** A request that was read, checked and planned; the same for every request with the same body. */
export interface Prepared {
  readonly request: ChatRequest;
  readonly directives: Directives;
  readonly reply: Reply;
  readonly model: string;
}

/** Reads a request body and plans its reply; `failure` overrides its directives. Throws a Refusal for a bad one. */
export function prepareReply(
  body_text: string,
  options: SimulatorOptions,
  failure: Directives = {},
): Prepared {
  const request = readChatRequest(parseBody(body_text));
  const model = request.model ?? options.models[0] ?? DEFAULT_MODEL;
  if (options.models.length > 0 && !options.models.includes(model)) {
    throw new Refusal(404, `The model \`${model}\` does not exist.`, 'model');
  }
  const directives = { ...ownDirectives(request), ...failure };
  return { request, directives, model, reply: planReply({ request, directives, options, body_text }) };
}

function parseBody(body_text: string): unknown {
  try {
    return JSON.parse(body_text);
  } catch (error) {
    throw new Refusal(400, `JSON decode error: ${(error as Error).message}`);
  }
}

function ownDirectives(request: ChatRequest): Directives {
  try {
    return findDirectives(lastText(request.messages, 'user'));
  } catch (error) {
    throw new Refusal(400, (error as Error).message, 'messages');
  }
}
