import type { OutgoingHttpHeaders } from 'node:http';
import type { Exchange } from '../exchange.ts';
import { waitsToContinue } from '../inbound/expect-continue.ts';
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
  // Node has no name for the Edge's status of spec 7.
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
 * Ends the reply after the request body has been received. Node closes a connection without keep-alive at the end of a reply, and a client
 * that is still sending would be reset before it reads the reply. The caller must read or discard the body meanwhile. Does not wait for a
 * client that expects `100 Continue`.
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
