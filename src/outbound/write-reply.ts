import type { OutgoingHttpHeaders } from 'node:http';
import type { Exchange } from '../exchange.ts';
import { waitsToContinue } from '../inbound/expect-continue.ts';
import type { ReplySink } from './reply-sink.ts';

/** Sends a whole JSON body with the exchange's own headers. Does nothing for a client that has gone. */
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
  // The Edge's status of spec 7 has no name in Node's table.
  if (status === 524) response.statusMessage = 'A Timeout Occurred';
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': exchange.id,
    ...exchange.replyHeaders,
    ...headers,
  });
  exchange.end.replyEnded();
  endWhenReceived(response, exchange.method === 'HEAD' ? '' : body);
}

/**
 * After the end of a reply Node closes a connection that is not kept alive. A client that still sends its body would be reset then and
 * might never read the reply, so the end waits for the body, which must be read or discarded meanwhile; not for one that waits for leave to be sent.
 */
export function endWhenReceived(response: ReplySink, body: string): void {
  const { req: request } = response;
  if (!request || request.complete || request.destroyed || waitsToContinue(request)) {
    response.end(body);
    return;
  }
  if (body !== '') response.write(body);
  response.flush?.();
  request.once('close', () => response.end());
}
