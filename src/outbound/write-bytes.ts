import type { OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Exchange } from '../exchange.ts';
import type { StreamLimits } from './limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { cutOff, untilDrained, untilFinished } from './slow-client.ts';

/**
 * Sends a reply byte by byte as `body` brings it, paused while the client does not read. Throws what `body` throws, after the client's
 * connection has been cut: a reply that broke off must not look complete.
 */
export async function writeBytes(
  exchange: Exchange,
  response: ReplySink,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Readable,
  { slow_client_ms }: Pick<StreamLimits, 'slow_client_ms'>,
): Promise<void> {
  exchange.status = status;
  exchange.replied_ms ??= exchange.clock.elapsed_ms();
  response.writeHead(status, { ...headers, 'x-request-id': exchange.id, ...exchange.replyHeaders });
  try {
    for await (const part of body) {
      const keepsUp = response.write(part);
      response.flush?.();
      if (!keepsUp) await untilDrained(exchange, response, slow_client_ms);
      if (exchange.client_gone) return;
    }
  } catch (thrown) {
    if (!exchange.client_gone) cutOff(response);
    throw thrown;
  }
  exchange.reply_ended = true;
  const finished = untilFinished(exchange, response, slow_client_ms);
  response.end();
  await finished;
}
