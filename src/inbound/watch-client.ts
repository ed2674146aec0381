import type { ServerResponse } from 'node:http';
import type { Exchange } from '../exchange.ts';

/**
 * Tells the exchange when its client leaves before the reply is complete. The response is watched, not the request: a request
 * closes as soon as its body has been read.
 */
export function watchClient(exchange: Exchange, response: ServerResponse): void {
  response.once('close', () => {
    if (!response.writableEnded) exchange.clientLeft();
  });
}
