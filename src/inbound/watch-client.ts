import type { ServerResponse } from 'node:http';
import type { Exchange } from '../exchange.ts';

/**
 * Tells the exchange when its client leaves before the reply is complete, or has been answered by somebody else. The response is watched,
 * not the request: a request closes as soon as its body has been read.
 */
export function watchClient(exchange: Exchange, response: ServerResponse): void {
  response.once('close', () => {
    if (!response.writableEnded || !exchange.end.reply_ended) exchange.clientLeft();
  });
  // Of a write to a response that somebody else has ended; nobody else may be listening, and then it would end the process.
  response.on('error', error => exchange.log.debug({ err: error }, 'the response could not be written'));
}
