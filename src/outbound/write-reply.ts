import type { OutgoingHttpHeaders } from 'node:http';
import type { Exchange } from '../exchange.ts';
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
  exchange.status = status;
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
  if (exchange.method === 'HEAD') response.end();
  else response.end(body);
}
