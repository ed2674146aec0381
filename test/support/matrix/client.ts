import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

/** A request as it goes out. */
export interface Sending {
  readonly method?: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A client on a connection of its own, that reads what comes and can leave, pause and wait for what it has read. */
export class MatrixClient {
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** The body so far. */
  text = '';
  /** Whether the body has ended as its framing says; false also while it is read. */
  isWhole = false;
  /** Resolves when nothing more comes. */
  readonly ended: Promise<void>;
  readonly #request;
  #response: IncomingMessage | undefined;
  readonly #readers = new Set<() => void>();

  constructor(url: string, { method = 'POST', path, headers, body }: Sending) {
    const length = { 'content-length': Buffer.byteLength(body) };
    this.#request = httpRequest(url + path, { method, agent: false, headers: { ...length, ...headers } });
    this.ended = new Promise(resolve => {
      this.#request.on('response', response => {
        this.#response = response;
        this.status = response.statusCode ?? 0;
        this.headers = response.headers;
        this.#look();
        response.setEncoding('utf8').on('data', (text: string) => {
          this.text += text;
          this.#look();
        });
        response.on('end', () => {
          this.isWhole = response.complete;
        });
        response.on('error', () => {});
        response.once('close', resolve);
      });
      // A reset and one's own leaving are ways to end; `close` follows.
      this.#request.on('error', () => {}).once('close', resolve);
    });
    this.#request.end(body);
  }

  /** Resolves when the body matches. Rejects when the reply ends first. */
  async received(pattern: RegExp): Promise<void> {
    let look = () => {};
    const seen = new Promise<void>(resolve => {
      look = () => pattern.test(this.text) && resolve();
    });
    this.#readers.add(look);
    look();
    const tooLate = this.ended.then(() => {
      if (!pattern.test(this.text)) throw new Error(`the reply ended before ${pattern} came: ${this.text}`);
    });
    await Promise.race([seen, tooLate]);
    this.#readers.delete(look);
  }

  /** Closes the connection, whatever has come. */
  leave(): void {
    this.#request.destroy();
  }

  /** Reads nothing more until `resume`. */
  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  #look(): void {
    for (const look of this.#readers) look();
  }
}
