import { openAiErrorBody } from '../dialects/openai-error.ts';
import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { ReplySink } from './reply-sink.ts';
import { writeJson } from './write-reply.ts';

/** Sends an error in the form of the endpoint's dialect, for an exchange whose reply has not begun. */
export function writeError(exchange: Exchange, response: ReplySink, error: GatewayError): void {
  exchange.end.errorSent(error.type);
  const { errorBody = openAiErrorBody } = exchange.endpoint;
  writeJson(exchange, response, error.status, errorBody(error), error.headers);
}
