import type { OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Exchange } from '../exchange/exchange.ts';
import { writeHead } from './reply-headers.ts';
import type { StreamLimits } from './reply-limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { ClientWatch, cutOff } from './slow-client.ts';

/**
 * Sends the bytes of `body` as a reply, paused while the client does not read. When the client has left or was cut off, destroys the rest
 * of `body`; with `readsOn` lets it run on for its other readers. When `body` throws, cuts the client's connection, since a reply that broke
 * off must not look complete, and rethrows.
 */
export async function writeBytes(
  exchange: Exchange,
  response: ReplySink,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Readable,
  { slow_client_ms }: Pick<StreamLimits, 'slow_client_ms'>,
  readsOn = false,
): Promise<void> {
  exchange.end.replied(status);
  exchange.replied_ms ??= exchange.clock.elapsed_ms();
  writeHead(exchange, response, status, headers);
  try {
    const length_bytes = Number(headers['content-length'] ?? Number.NaN);
    await passedOn(exchange, response, body, { length_bytes, slow_client_ms, readsOn });
  } catch (thrown) {
    if (!exchange.client_gone) cutOff(response);
    throw thrown;
  }
}

interface Passing {
  readonly length_bytes: number;
  readonly slow_client_ms: number;
  readonly readsOn: boolean;
}

/**
 * Resolves when the client has all of `body`, or reads no longer. The last part, recognized by the announced `length_bytes`, is sent
 * together with the end. Uses listeners instead of `for await`: most replies are one part, and an iterator costs more.
 */
function passedOn(
  exchange: Exchange,
  response: ReplySink,
  body: Readable,
  { length_bytes, slow_client_ms, readsOn }: Passing,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // Created only for a client that has to be waited for; most take their whole reply at once.
    let client: ClientWatch | undefined;
    const wait = () => {
      client ??= new ClientWatch(exchange, response, slow_client_ms, watcher);
      client.wait();
    };
    const closed = () => {
      if (readsOn) body.off('data', write).off('end', ended).resume();
      else if (!exchange.end.reply_ended) body.destroy();
      over(resolve);
    };
    const watcher = { onDrained: () => body.resume(), onOver: closed };
    const over = (act: () => void) => {
      client?.end();
      exchange.offAbort(left);
      act();
    };
    const left = () => {
      if (exchange.client_gone) closed();
    };
    const broke = (fault: unknown) => exchange.end.reply_ended || over(() => reject(fault));
    const end = (last?: Buffer) => {
      exchange.end.replyEnded();
      if (last) response.end(last);
      else response.end();
      if (hasTakenAll(response)) over(resolve);
      else wait();
    };
    // Events from before these listeners are not repeated.
    if (body.destroyed) return void broke(body.errored ?? cut());
    let left_bytes = length_bytes;
    if (readsOn) exchange.readOn = left;
    exchange.onAbort(left);
    const write = (part: Buffer) => {
      left_bytes -= part.length;
      if (left_bytes === 0) return end(part);
      const keepsUp = response.write(part);
      response.flush?.();
      if (keepsUp) return;
      body.pause();
      wait();
    };
    const ended = () => exchange.end.reply_ended || end();
    body.on('data', write).on('end', ended).on('error', broke);
    // Closed without an end means cut off. The error is created only then, since it costs more than a reply.
    body.on('close', () => exchange.end.reply_ended || broke(cut()));
  });
}

/** Whether the operating system has taken the whole reply; false while other middleware holds part of it back. */
const hasTakenAll = ({ writableEnded, socket }: ReplySink): boolean =>
  writableEnded === true && socket?.writableLength === 0;

const cut = (): Error => new Error('the body was closed before its end');
