import type { IncomingMessage } from 'node:http';
import { readAgain } from '../replay-body.ts';

/** Most bytes of a body that are kept: a call such as one for embeddings, no file. */
const max_kept_bytes = 64 * 1024;

/** Takes the parts of a request body as they pass. */
export type OnBody = (part: Buffer) => void;

/** What was sent of a request's body on a kept connection, so that it can be sent once more on another. */
export class SentBody {
  readonly #request: IncomingMessage;
  #parts: Buffer[] = [];
  #bytes = 0;

  /** Keeps what is read of the body from now on. */
  constructor(request: IncomingMessage) {
    this.#request = request;
    request.on('data', this.#keep);
  }

  /** Whether all that was sent is there. */
  get isWhole(): boolean {
    return this.#bytes <= max_kept_bytes;
  }

  /** Lets the request be read again from the beginning of its body. Returns how many bytes have been read before. */
  putBack(): number {
    this.#request.off('data', this.#keep);
    const sent = Buffer.concat(this.#parts);
    if (sent.length === 0) return 0;
    if (this.#request.readableEnded) readAgain(this.#request, sent);
    else this.#request.unshift(sent);
    return sent.length;
  }

  /** Keeps no more. */
  close(): void {
    this.#request.off('data', this.#keep);
    this.#parts = [];
  }

  readonly #keep = (given: Buffer | string): void => {
    // An application may have asked for text.
    const part = Buffer.isBuffer(given) ? given : Buffer.from(given);
    this.#bytes += part.length;
    if (this.isWhole) this.#parts.push(part);
    else this.close();
  };
}

/** `onBody` for a body of which it has had the first `before_bytes`. */
export function withoutFirst(before_bytes: number, onBody: OnBody): OnBody {
  let left_bytes = before_bytes;
  return part => {
    const rest = part.subarray(left_bytes);
    left_bytes -= part.length - rest.length;
    if (rest.length > 0) onBody(rest);
  };
}
