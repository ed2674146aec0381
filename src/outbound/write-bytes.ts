import type { OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Exchange } from '../exchange.ts';
import type { StreamLimits } from './limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { cutOff, untilFinished } from './slow-client.ts';

/** Timers fire up to a millisecond early. */
const timer_slack_ms = 2;

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
 * do: most replies are one part, and an iterator costs more than that. A large reply waits for its client after nearly every part, so
 * waiting makes nothing anew: its listeners stay, and its timer runs on and looks when it fires since when it waits.
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
    let waiting_since_ms: number | undefined;
    let timer: NodeJS.Timeout | undefined;
    const { clock } = exchange;
    const over = (act: () => void) => {
      clearTimeout(timer);
      exchange.offAbort(left);
      response.off('drain', drained);
      act();
    };
    const left = () => {
      if (!exchange.client_gone) return;
      body.destroy();
      over(resolve);
    };
    const drained = () => {
      waiting_since_ms = undefined;
      body.resume();
    };
    const look = () => {
      timer = undefined;
      if (waiting_since_ms === undefined) return;
      const left_ms = waiting_since_ms + slow_client_ms - clock.elapsed_ms();
      if (left_ms > timer_slack_ms) timer = setTimeout(look, left_ms);
      else {
        exchange.end_reason ??= 'slow_client';
        cutOff(response);
      }
    };
    exchange.onAbort(left);
    response.on('drain', drained);
    body.on('data', (part: Buffer) => {
      const keepsUp = response.write(part);
      response.flush?.();
      if (keepsUp) return;
      body.pause();
      waiting_since_ms = clock.elapsed_ms();
      timer ??= setTimeout(look, slow_client_ms);
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
