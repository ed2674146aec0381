import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { failAfter } from './until.ts';

/** A reply with its headers as they came, and its whole body. */
export interface RawReply {
  readonly status: number;
  readonly reason: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface RawRequest {
  readonly method?: string;
  /** Exactly these: nothing is added to them but `host` and `content-length`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A request without anything that a client library adds, on a connection of its own. */
export function send(url: string, { method = 'GET', headers, body }: RawRequest = {}): Promise<RawReply> {
  const framing = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const options = { method, headers: { ...framing, ...headers }, agent: false };
    const request = httpRequest(url, options, response => {
      const parts: Buffer[] = [];
      response
        .on('data', part => parts.push(part))
        .on('error', reject)
        .on('end', () => {
          const { statusCode: status = 0, statusMessage: reason = '' } = response;
          resolve({ status, reason, headers: response.headers, text: Buffer.concat(parts).toString() });
        });
    });
    request.on('error', reject).end(body);
  });
}

/** A connection on which a test writes every byte itself. */
export class RawConnection {
  /** All that has come. */
  text = '';
  /** Resolves when the other side has closed, in whatever way. */
  readonly closed: Promise<void>;
  readonly socket: Socket;
  readonly #readers = new Set<() => void>();

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.socket.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
      for (const look of this.#readers) look();
    });
    // A reset is one of the ways to be closed; `close` follows.
    this.socket.on('error', () => {});
    this.closed = new Promise(resolve => this.socket.once('close', () => resolve()));
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Resolves when what has come matches. Rejects when the connection closes first, or too late. */
  async received(pattern: RegExp, within_ms = 5000): Promise<void> {
    let stop = () => {};
    let look = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        look = () => pattern.test(this.text) && resolve();
        const fail = (why: string) => reject(new Error(`${why} before ${pattern} came: ${this.text}`));
        this.#readers.add(look);
        stop = failAfter(within_ms, () => fail(`${within_ms} ms have passed`));
        look();
        void this.closed.then(() => fail('the connection was closed'));
      });
    } finally {
      stop();
      this.#readers.delete(look);
    }
  }

  destroy(): void {
    this.socket.destroy();
  }
}
