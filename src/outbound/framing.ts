import { OutgoingMessage, ServerResponse } from 'node:http';
import type { ReplySink } from './reply-sink.ts';

const last_chunk = '0\r\n\r\n';

/**
 * The chunks of chunked transfer encoding (RFC 9112, 7.1) of a response whose head has been sent. Node writes each in four parts, which
 * costs a tenth of a stream's CPU; here it is one.
 */
export class Framing {
  readonly #response: ReplySink;

  private constructor(response: ReplySink) {
    this.#response = response;
  }

  /**
   * `undefined` where the body is not chunked, or the response is not ours alone: an application above may write to it as well, and expects
   * Node to frame what it writes; `compression` changes what is written.
   */
  static of(response: ReplySink): Framing | undefined {
    if (!(response instanceof ServerResponse) || !response.headersSent || !response.chunkedEncoding)
      return undefined;
    // Frameworks put a prototype of their own before Node's.
    if (Object.getPrototypeOf(response) !== ServerResponse.prototype) return undefined;
    const { write, end } = response;
    if (write !== OutgoingMessage.prototype.write || end !== OutgoingMessage.prototype.end) return undefined;
    // The head promises the encoding already; from here on Node is given the body as it goes out.
    response.chunkedEncoding = false;
    return new Framing(response);
  }

  /** As `response.write`. */
  write(text: string): boolean {
    const { socket } = this.#response;
    // Node would hold the text back until the next tick otherwise, in case there is more.
    socket?.cork();
    const keepsUp = this.#response.write(framed(text));
    socket?.uncork();
    return keepsUp;
  }

  /** As `response.end`. */
  end(text: string): void {
    this.#response.end(framed(text) + last_chunk);
  }
}

const framed = (text: string): string =>
  text === '' ? '' : `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
