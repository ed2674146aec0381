import type { OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { writeHead } from '../../gateway/outbound/reply-headers.ts';
import type { StreamLimits } from '../../gateway/outbound/reply-limits.ts';
import type { ReplySink } from '../../gateway/outbound/reply-sink.ts';
import { ClientWatch, type ClientWatcher, cutOff } from '../../gateway/outbound/slow-client.ts';

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
    await new ByteRelay(exchange, response, body, { length_bytes, slow_client_ms, readsOn }).run();
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
 * Passes `body` on until the client has all of it, or reads no longer. The last part, recognized by the announced `length_bytes`, is sent
 * together with the end. Uses listeners instead of `for await`: most replies are one part, and an iterator costs more.
 */
class ByteRelay implements ClientWatcher {
  readonly #exchange: Exchange;
  readonly #response: ReplySink;
  readonly #body: Readable;
  readonly #slow_client_ms: number;
  readonly #readsOn: boolean;
  readonly #over = Promise.withResolvers<void>();
  #left_bytes: number;
  /** Created only for a client that has to be waited for; most take their whole reply at once. */
  #client: ClientWatch | undefined;

  constructor(
    exchange: Exchange,
    response: ReplySink,
    body: Readable,
    { length_bytes, slow_client_ms, readsOn }: Passing,
  ) {
    this.#exchange = exchange;
    this.#response = response;
    this.#body = body;
    this.#slow_client_ms = slow_client_ms;
    this.#readsOn = readsOn;
    this.#left_bytes = length_bytes;
  }

  run(): Promise<void> {
    // Events from before these listeners are not repeated.
    if (this.#body.destroyed) this.#broke(this.#body.errored ?? cut());
    else {
      if (this.#readsOn) this.#exchange.insteadOfAbort = this.#left;
      this.#exchange.onAbort(this.#left);
      this.#body.on('data', this.#write).on('end', this.#ended).on('error', this.#broke);
      // Closed without an end means cut off. The error is created only then, since it costs more than a reply.
      this.#body.on('close', () => this.#exchange.end.reply_ended || this.#broke(cut()));
    }
    return this.#over.promise;
  }

  readonly onDrained = (): void => {
    this.#body.resume();
  };

  readonly onOver = (): void => {
    if (this.#readsOn) this.#body.off('data', this.#write).off('end', this.#ended).resume();
    else if (!this.#exchange.end.reply_ended) this.#body.destroy();
    this.#close();
    this.#over.resolve();
  };

  readonly #write = (part: Buffer): void => {
    this.#left_bytes -= part.length;
    if (this.#left_bytes === 0) return this.#end(part);
    const keepsUp = this.#response.write(part);
    this.#response.flush?.();
    if (keepsUp) return;
    this.#body.pause();
    this.#wait();
  };

  readonly #ended = (): void => {
    if (!this.#exchange.end.reply_ended) this.#end();
  };

  readonly #broke = (fault: unknown): void => {
    if (this.#exchange.end.reply_ended) return;
    this.#close();
    this.#over.reject(fault);
  };

  readonly #left = (): void => {
    if (this.#exchange.client_gone) this.onOver();
  };

  #end(last?: Buffer): void {
    this.#exchange.end.replyEnded();
    if (last) this.#response.end(last);
    else this.#response.end();
    if (!hasTakenAll(this.#response)) return this.#wait();
    this.#close();
    this.#over.resolve();
  }

  #wait(): void {
    this.#client ??= new ClientWatch(this.#exchange, this.#response, this.#slow_client_ms, this);
    this.#client.wait();
  }

  #close(): void {
    this.#client?.end();
    this.#exchange.offAbort(this.#left);
  }
}

/** Whether the operating system has taken the whole reply; false while other middleware holds part of it back. */
const hasTakenAll = ({ writableEnded, socket }: ReplySink): boolean =>
  writableEnded === true && socket?.writableLength === 0;

const cut = (): Error => new Error('the body was closed before its end');
