import type { OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Exchange } from '../exchange.ts';
import type { StreamLimits } from './limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { cutOff, DrainWatch, untilFinished } from './slow-client.ts';

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
  headers['x-request-id'] = exchange.id;
  response.writeHead(status, Object.assign(headers, exchange.replyHeaders));
  try {
    await pumped(exchange, response, body, slow_client_ms);
    if (exchange.client_gone) return;
  } catch (thrown) {
    if (!exchange.client_gone) cutOff(response);
    throw thrown;
  }
  exchange.reply_ended = true;
  const finished = untilFinished(exchange, response, slow_client_ms);
  response.end();
  await finished;
}

/**
 * Resolves when `body` has been written to its end, or nobody reads it any longer; then it is destroyed. Listens where `for await` would
 * do: most replies are one part, and an iterator costs more than that.
 */
function pumped(
  exchange: Exchange,
  response: ReplySink,
  body: Readable,
  slow_client_ms: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // What has happened before anybody listened is not told again.
    if (body.destroyed) return reject(body.errored ?? cut());
    let ended = false;
    const client = new DrainWatch(exchange, response, slow_client_ms, () => body.resume());
    const over = (act: () => void) => {
      client.end();
      exchange.offAbort(left);
      act();
    };
    const left = () => {
      if (!exchange.client_gone) return;
      body.destroy();
      over(resolve);
    };
    exchange.onAbort(left);
    body.on('data', (part: Buffer) => {
      const keepsUp = response.write(part);
      response.flush?.();
      if (keepsUp) return;
      body.pause();
      client.wait();
    });
    body.on('error', fault => over(() => reject(fault)));
    body.on('end', () => {
      ended = true;
      over(resolve);
    });
    // Without an end before, it was cut. An error costs more than a reply, so none is made for nothing.
    body.on('close', () => ended || over(() => reject(cut())));
  });
}

const cut = (): Error => new Error('the body was closed before its end');
