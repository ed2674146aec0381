import { openAiErrorBody } from '../dialects/openai-error.ts';
import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { ReplySink } from './reply-sink.ts';
import { writeJson } from './write-reply.ts';

/**
 * Sends an error in the form of the endpoint's dialect, for an exchange whose reply has not begun. Leaves the headers of stages out where
 * they cannot be sent, which may be what the error is about.
 */
export function writeError(exchange: Exchange, response: ReplySink, error: GatewayError): void {
  exchange.end.errorSent(error.type);
  const { errorBody = openAiErrorBody } = exchange.endpoint;
  const send = () => writeJson(exchange, response, error.status, errorBody(error), error.headers);
  try {
    send();
  } catch (thrown) {
    exchange.log.error({ err: thrown }, 'a reply header that a stage has set cannot be sent');
    for (const name of Object.keys(exchange.replyHeaders)) delete exchange.replyHeaders[name];
    send();
  }
}
