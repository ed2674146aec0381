import type { ServerResponse } from 'node:http';
import type { Exchange } from '../exchange.ts';

/**
 * Reports to the exchange that its client left before the reply was complete, or that another handler answered. The response is watched,
 * not the request: a request closes as soon as its body has been read.
 */
export function watchClient(exchange: Exchange, response: ServerResponse): void {
  response.once('close', () => {
    if (!response.writableEnded || !exchange.end.reply_ended) exchange.clientLeft();
  });
  // A write to a response that another handler has ended; without a listener it would end the process.
  response.on('error', error => exchange.log.debug({ err: error }, 'the response could not be written'));
}
