import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { refusal } from '../../errors.ts';
import type { Exchange } from '../../exchange.ts';
import { sendContinue } from '../../inbound/expect-continue.ts';
import { tooLarge } from '../../inbound/limits.ts';
import { tooSlow } from '../../inbound/upload.ts';
import type { ProviderKey } from '../http/key-pool.ts';
import { switchedProtocols } from '../http/upstream-call.ts';

/** What an upload may be, and how long the upstream may be silent. */
export interface CallLimits {
  readonly max_body_bytes: number;
  readonly body_idle_ms: number;
  readonly body_timeout_ms: number;
  /** On average, after `body_timeout_ms`. */
  readonly min_body_bytes_per_second: number;
  readonly idle_timeout_ms: number;
}

/** How often in the time of a limit is looked whether anything has moved: so much later than at the limit itself is it noticed. */
const looks = 4;

/**
 * One request on its way. Stands for the client's request and for its response towards http-proxy-middleware, which would change the one
 * and destroy the other when its upstream breaks: the real ones are kept out of its reach, so that an error can still be told.
 */
export class PassthroughCall {
  // What is read of a request there.
  readonly method: string;
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  url: string;
  headers: OutgoingHttpHeaders = {};
  // What is read of a response.
  readonly finished = false;
  readonly headersSent = false;
  readonly writableFinished = false;
  destroyed = false;

  readonly request: IncomingMessage;
  /** Resolves when the upstream's reply has begun, rejects when it will not. */
  readonly replied: Promise<void>;
  /** The reply, once it has begun. */
  reply: IncomingMessage | undefined;
  /** The provider's key that it is sent with. */
  key: ProviderKey | undefined;
  readonly #exchange: Exchange;
  readonly #limits: CallLimits;
  readonly #closeListeners: (() => void)[] = [];
  #outgoing: ClientRequest | undefined;
  #watch: NodeJS.Timeout | undefined;
  #moved_bytes = 0;
  #still = 0;
  #endUpload: (() => void) | undefined;
  readonly #reply = Promise.withResolvers<void>();

  constructor(exchange: Exchange, request: IncomingMessage, url: string, limits: CallLimits) {
    this.#exchange = exchange;
    this.request = request;
    this.method = exchange.method;
    this.url = url;
    this.replied = this.#reply.promise;
    // It may fail before anybody waits for it.
    this.replied.catch(() => {});
    this.#limits = limits;
    const { max_body_bytes } = limits;
    if (Number(request.headers['content-length']) > max_body_bytes) throw tooLarge(max_body_bytes);
    exchange.onAbort(this.#abort);
  }

  /** Of what a response tells only its closing is ever told here; a request tells nothing. */
  on(name: string, listener: () => void): this {
    if (name === 'close') this.#closeListeners.push(listener);
    return this;
  }

  /** A connection has been found: sends the body on it. Once it is all there it is one part, and leaves together with the headers. */
  pipe(outgoing: ClientRequest): void {
    if (this.destroyed) return void outgoing.destroy();
    const { request } = this;
    this.#outgoing = outgoing;
    // Without this listener Node would close the connection silently.
    outgoing.once('upgrade', (_, socket) => {
      socket.destroy();
      this.#refuse(switchedProtocols());
    });
    sendContinue(request);
    this.#watch = setTimeout(this.#look, this.#limits.idle_timeout_ms / looks);
    const length_bytes = Number(request.headers['content-length'] ?? Number.NaN);
    if (!request.complete && request.readableLength !== length_bytes) return this.#upload(outgoing);
    const body: Buffer | string | null = request.read();
    const { max_body_bytes } = this.#limits;
    if (body === null) outgoing.end();
    else if (body.length > max_body_bytes) this.#refuse(tooLarge(max_body_bytes));
    else outgoing.end(body);
    // To its end, which may not have been told yet.
    request.resume();
  }

  /** As `stream.pipe` would, with a limit of bytes, one of silence and one of slowness. */
  #upload(outgoing: ClientRequest): void {
    const { request } = this;
    const { clock } = this.#exchange;
    const { max_body_bytes, body_idle_ms, body_timeout_ms, min_body_bytes_per_second } = this.#limits;
    let sent_bytes = 0;
    /** When the body must be complete, as far as it has come. */
    let ends_ms = clock.elapsed_ms() + body_timeout_ms;
    let paused_ms = 0;
    const idle = setTimeout(() => this.#stalled(idle), body_idle_ms);
    const onData = (part: Buffer) => {
      idle.refresh();
      sent_bytes += part.length;
      ends_ms += (part.length / min_body_bytes_per_second) * 1000;
      if (sent_bytes > max_body_bytes) return this.#refuse(tooLarge(max_body_bytes));
      const now_ms = clock.elapsed_ms();
      if (now_ms > ends_ms) return this.#refuse(tooSlow(` at ${min_body_bytes_per_second} bytes per second`));
      if (outgoing.write(part)) return;
      paused_ms = now_ms;
      request.pause();
    };
    const onDrain = () => {
      // While the upstream does not read, the client cannot send.
      ends_ms += clock.elapsed_ms() - paused_ms;
      request.resume();
    };
    const onEnd = () => {
      end();
      outgoing.end();
    };
    const end = () => {
      clearTimeout(idle);
      request.off('data', onData).off('end', onEnd);
    };
    this.#endUpload = end;
    request.on('data', onData).on('end', onEnd);
    outgoing.on('drain', onDrain).on('close', end);
  }

  /** Nothing has come for a while. An upstream that does not read pauses the request; then it is not the client's doing. */
  #stalled(idle: NodeJS.Timeout): void {
    if (this.request.readableFlowing === false) return void idle.refresh();
    this.#refuse(tooSlow(`: nothing for ${this.#limits.body_idle_ms / 1000} seconds`));
  }

  #refuse(error: Error): void {
    this.failed(error);
    this.#abort();
  }

  /** Whether the upstream is silent is seen by what has moved on its connection, so that nothing need be noted while it does. */
  readonly #look = () => {
    const { bytesRead = 0, bytesWritten = 0 } = this.#outgoing?.socket ?? {};
    this.#still = bytesRead + bytesWritten === this.#moved_bytes ? this.#still + 1 : 0;
    this.#moved_bytes = bytesRead + bytesWritten;
    if (this.#still < looks) return void this.#watch?.refresh();
    const error = refusal('provider_timeout', { cause: new Error('the limit: idle_timeout_ms') });
    this.failed(error);
    this.reply?.destroy(error);
    this.#abort();
  };

  answered(reply: IncomingMessage): void {
    // Without its headers it does not come as an upgrade.
    if (reply.statusCode === 101) {
      reply.destroy();
      return this.#refuse(switchedProtocols());
    }
    this.reply = reply;
    this.#reply.resolve();
  }

  failed(error: unknown): void {
    this.#reply.reject(error ?? new Error('the request was not passed on'));
  }

  /** The upstream's reply broke off, or was refused by its own connection: the reader of the reply is told by the reply itself. */
  destroy(error?: Error): void {
    this.destroyed = true;
    this.failed(error ?? new Error('the upstream closed the connection'));
  }

  /** Everything has been said: the connection is free for the next request, or closed if its reply was not read to the end. */
  end(): void {
    clearTimeout(this.#watch);
    this.#exchange.offAbort(this.#abort);
    if (!this.reply?.complete) this.#abort();
    // Or what is left of the body could not be discarded.
    this.#endUpload?.();
  }

  readonly #abort = () => {
    if (this.destroyed) return;
    this.destroy();
    for (const closed of this.#closeListeners) closed();
    this.#endUpload?.();
  };
}
