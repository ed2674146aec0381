import type { ServerResponse } from 'node:http';
import type { Exchange } from '../exchange.ts';

/**
 * Reports to the exchange that its client left before the reply was complete, or that another handler answered. Watches the response: a
 * request already closes once its body has been read.
 */
export function watchClient(exchange: Exchange, response: ServerResponse): void {
  response.once('close', () => {
    if (!response.writableEnded || !exchange.end.reply_ended) exchange.clientLeft();
  });
  // Another handler may end the response before a write; without a listener that error would end the process.
  response.on('error', error => exchange.log.debug({ err: error }, 'the response could not be written'));
}
