import { http } from '../../common/node-http.ts';
import type { ReplySink } from './reply-sink.ts';

const { OutgoingMessage, ServerResponse } = http;

const last_chunk = '0\r\n\r\n';

/**
 * Chunked transfer encoding (RFC 9112, 7.1) for a response whose head has been sent. Node writes each chunk in four parts, which costs a
 * tenth of a stream's CPU; this writes one.
 */
export class Framing {
  readonly #response: ReplySink;

  private constructor(response: ReplySink) {
    this.#response = response;
  }

  /**
   * Creates the framing; `undefined` if the body is not chunked, or if other code may change it or write to it: an application around the
   * gateway expects Node to frame what it writes, and `compression` changes what is written.
   */
  static of(response: ReplySink): Framing | undefined {
    if (!(response instanceof ServerResponse) || !response.headersSent || !response.chunkedEncoding)
      return undefined;
    // Frameworks replace Node's prototype with their own.
    if (Object.getPrototypeOf(response) !== ServerResponse.prototype) return undefined;
    const { write, end } = response;
    if (write !== OutgoingMessage.prototype.write || end !== OutgoingMessage.prototype.end) return undefined;
    // The head has announced the encoding; from here on Node is given the body already framed.
    response.chunkedEncoding = false;
    // A head that waits for the body goes first: `write` passes the response by.
    response.flushHeaders();
    return new Framing(response);
  }

  /** Like `response.write`. */
  write(text: string): boolean {
    const { socket } = this.#response;
    // Until earlier replies of the connection have been sent, Node holds this one; a closed connection takes nothing.
    if (!socket?.writable) return this.#response.write(framed(text));
    // The response would hold the text back until the next tick, in case more follows. It is told of a full socket, for its `drain`.
    return socket.write(framed(text)) || this.#response.write('');
  }

  /** Like `response.end`. */
  end(text: string): void {
    this.#response.end(framed(text) + last_chunk);
  }
}

const framed = (text: string): string =>
  text === '' ? '' : `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
