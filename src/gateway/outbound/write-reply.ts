import type { OutgoingHttpHeaders } from 'node:http';
import { openAiErrorBody } from '../dialects/openai-error.ts';
import { errorHeaders, type GatewayError } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { waitsToContinue } from '../inbound/expect-continue.ts';
import { sendable, writeHead } from './reply-headers.ts';
import type { ReplySink } from './reply-sink.ts';

/** Sends a whole JSON body with the exchange's headers. Does nothing if the client has gone. */
export function writeJson(
  exchange: Exchange,
  response: ReplySink,
  status: number,
  body: string,
  headers?: OutgoingHttpHeaders,
): void {
  if (exchange.client_gone || response.headersSent || response.destroyed) return;
  exchange.end.replied(status);
  exchange.replied_ms ??= exchange.clock.elapsed_ms();
  // Node has no name for 524, a status of proxies.
  if (status === 524) response.statusMessage = 'A Timeout Occurred';
  const own = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  };
  writeHead(exchange, response, status, own, headers);
  exchange.end.replyEnded();
  endWhenReceived(response, exchange.method === 'HEAD' ? '' : body);
}

/**
 * Ends the reply after the request body has been received. Node closes a connection without keep-alive at the end of a reply, and a client
 * that is still sending would be reset before it reads the reply. The caller must read or discard the body meanwhile. Does not wait for a
 * client that expects `100 Continue`.
 */
export function endWhenReceived(response: ReplySink, body: string): void {
  const { req: request } = response;
  // HTTP/2 ends a reply without its connection; requests that Fastify's inject() makes say nothing of their end.
  const isArriving = request?.complete === false && !request.destroyed && request.httpVersionMajor === 1;
  if (!isArriving || waitsToContinue(request)) {
    response.end(body);
    return;
  }
  if (body !== '') response.write(body);
  response.flush?.();
  request.once('close', () => response.end());
}

/**
 * Sends an error in the form of the endpoint's dialect, for an exchange whose reply has not begun. Leaves the headers of stages out where
 * they cannot be sent, which may be what the error is about.
 */
export function writeError(exchange: Exchange, response: ReplySink, error: GatewayError): void {
  exchange.end.errorSent(error);
  const { errorBody = openAiErrorBody } = exchange.endpoint;
  const body = bodyOf(exchange, errorBody, error);
  const headers = errorHeaders(error);
  try {
    writeJson(exchange, response, error.status, body, headers);
  } catch (thrown) {
    exchange.log.error({ err: thrown }, 'an error was sent without a header that a stage has set');
    writeJson(exchange, response, error.status, body, sendable(headers));
  }
}

/** The body that a dialect writes for an error; OpenAI's envelope if it cannot. */
function bodyOf(exchange: Exchange, errorBody: typeof openAiErrorBody, error: GatewayError): string {
  try {
    return errorBody(error);
  } catch (err) {
    exchange.log.error({ err }, 'the dialect failed to write an error');
    return openAiErrorBody(error);
  }
}
