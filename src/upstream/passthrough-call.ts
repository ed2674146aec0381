import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { ProviderKey } from './key-pool.ts';

/**
 * One request on its way. Stands for the response towards http-proxy-middleware, which destroys a response when its upstream breaks: the
 * real one is kept out of its reach, so that an error can still be told on it.
 */
export class PassthroughCall extends EventEmitter {
  readonly finished = false;
  readonly headersSent = false;
  writableFinished = false;
  destroyed = false;
  readonly request: IncomingMessage;
  readonly path: string;
  readonly reply: Promise<IncomingMessage>;
  /** The provider's key that it is sent with. */
  key: ProviderKey | undefined;
  readonly #exchange: Exchange;
  readonly #max_body_bytes: number;
  #answer: IncomingMessage | undefined;
  readonly #replied = Promise.withResolvers<IncomingMessage>();

  constructor(exchange: Exchange, request: IncomingMessage, max_body_bytes: number) {
    super();
    this.#exchange = exchange;
    this.request = request;
    this.path = exchange.path;
    this.reply = this.#replied.promise;
    // It may fail before anybody waits for it.
    this.reply.catch(() => {});
    this.#max_body_bytes = max_body_bytes;
    if (Number(request.headers['content-length']) > max_body_bytes) throw tooLarge(max_body_bytes);
    exchange.onAbort(this.#abort);
  }

  /** A connection has been found; the body is piped into it next. */
  sending(outgoing: { destroy(): void }): void {
    if (this.destroyed) return void outgoing.destroy();
    if (this.request.headers['content-length'] !== undefined) return;
    let left_bytes = this.#max_body_bytes;
    this.request.on('data', (part: Buffer) => {
      left_bytes -= part.length;
      if (left_bytes >= 0) return;
      this.failed(tooLarge(this.#max_body_bytes));
      this.#abort();
    });
  }

  answered(reply: IncomingMessage): void {
    this.#answer = reply;
    this.#replied.resolve(reply);
  }

  failed(error: unknown): void {
    this.#replied.reject(error ?? new Error('the request was not passed on'));
  }

  /** The upstream's reply broke off, or was refused by its own connection: the reader of the reply is told by the reply itself. */
  destroy(error?: Error): void {
    this.destroyed = true;
    this.failed(error ?? new Error('the upstream closed the connection'));
  }

  /** Everything has been said: the connection is free for the next request, or closed if its reply was not read to the end. */
  end(): void {
    this.#exchange.offAbort(this.#abort);
    if (!this.#answer?.complete) this.#abort();
  }

  readonly #abort = () => {
    if (this.destroyed) return;
    this.destroy();
    this.emit('close');
    // Or it would be paused when the pipe's end closes, and what is left of the body could not be discarded.
    this.request.unpipe();
  };
}

const tooLarge = (max_body_bytes: number): GatewayError =>
  refusal('body_too_large', {
    message: `The request body is larger than the ${max_body_bytes} bytes accepted.`,
    headers: { connection: 'close' },
  });
