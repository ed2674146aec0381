import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { ProviderKey } from './key-pool.ts';

/** What an upload may be. */
export interface UploadLimits {
  readonly max_body_bytes: number;
  readonly body_idle_ms: number;
}

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
  readonly #limits: UploadLimits;
  #idle: NodeJS.Timeout | undefined;
  #answer: IncomingMessage | undefined;
  readonly #replied = Promise.withResolvers<IncomingMessage>();

  constructor(exchange: Exchange, request: IncomingMessage, limits: UploadLimits) {
    super();
    this.#exchange = exchange;
    this.request = request;
    this.path = exchange.path;
    this.reply = this.#replied.promise;
    // It may fail before anybody waits for it.
    this.reply.catch(() => {});
    this.#limits = limits;
    const { max_body_bytes } = limits;
    if (Number(request.headers['content-length']) > max_body_bytes) throw tooLarge(max_body_bytes);
    exchange.onAbort(this.#abort);
  }

  /** A connection has been found; the body is piped into it next. */
  sending(outgoing: { destroy(): void }): void {
    if (this.destroyed) return void outgoing.destroy();
    const { request } = this;
    if (request.complete) return;
    const { max_body_bytes, body_idle_ms } = this.#limits;
    let left_bytes = max_body_bytes;
    this.#idle = setTimeout(() => this.#stalled(), body_idle_ms);
    request.on('data', (part: Buffer) => {
      this.#idle?.refresh();
      left_bytes -= part.length;
      if (left_bytes < 0) this.#refuse(tooLarge(max_body_bytes));
    });
    request.once('end', () => clearTimeout(this.#idle));
  }

  /** Nothing has come for a while. An upstream that does not read pauses the request; then it is not the client's doing. */
  #stalled(): void {
    if (this.request.readableFlowing === false) return void this.#idle?.refresh();
    const seconds = this.#limits.body_idle_ms / 1000;
    this.#refuse(
      refusal('invalid_request', {
        message: `The request body did not arrive: nothing for ${seconds} seconds.`,
        headers: { connection: 'close' },
      }),
    );
  }

  #refuse(error: GatewayError): void {
    this.failed(error);
    this.#abort();
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
    clearTimeout(this.#idle);
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
