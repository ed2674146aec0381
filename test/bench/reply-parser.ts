/** What a reply brings, in order. */
export interface ReplyListener {
  onHead(status: number): void;
  /** A piece of the body, without chunked framing. Valid only during the call. */
  onBody(bytes: Buffer): void;
  /** The reply is complete. `reusable`: the server keeps the connection. */
  onEnd(reusable: boolean): void;
}

type State = 'head' | 'body' | 'size' | 'chunk' | 'gap' | 'trailer';
const nothing = Buffer.alloc(0);

/** HTTP/1.1 replies from bytes in any cut: only what servers under load send, as cheap as can be. */
export class ReplyParser {
  readonly #listener: ReplyListener;
  #state: State = 'head';
  /** Of the body or of the current chunk. */
  #left_bytes = 0;
  #reusable = true;
  #held = nothing;

  constructor(listener: ReplyListener) {
    this.#listener = listener;
  }

  /** Throws when the bytes are not what was expected. */
  feed(bytes: Buffer): void {
    let rest = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes;
    this.#held = nothing;
    while (rest.length > 0) {
      const used_bytes = this.#turn(rest);
      if (used_bytes === 0) {
        // A copy: the socket's buffer is used again for the next read.
        this.#held = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(used_bytes);
    }
  }

  /** How many bytes were used; 0 if more are needed. */
  #turn(rest: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#head(rest);
      case 'body':
      case 'chunk':
        return this.#data(rest);
      case 'size':
        return this.#size(rest);
      case 'gap':
        if (rest.length < 2) return 0;
        this.#state = 'size';
        return 2;
      case 'trailer':
        return this.#trailer(rest);
    }
  }

  #head(rest: Buffer): number {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return 0;
    const text = rest.toString('latin1', 0, end + 2);
    const status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    this.#reusable = !/\r\nconnection: *close/i.test(text);
    this.#listener.onHead(status);
    if (length !== undefined) {
      this.#left_bytes = Number(length);
      this.#state = 'body';
      if (this.#left_bytes === 0) this.#end();
    } else if (/\r\ntransfer-encoding: *chunked/i.test(text)) this.#state = 'size';
    else throw new Error(`a reply without length: ${text.slice(0, 200)}`);
    return end + 4;
  }

  #data(rest: Buffer): number {
    const used_bytes = Math.min(this.#left_bytes, rest.length);
    this.#left_bytes -= used_bytes;
    this.#listener.onBody(used_bytes === rest.length ? rest : rest.subarray(0, used_bytes));
    if (this.#left_bytes > 0) return used_bytes;
    if (this.#state === 'chunk') this.#state = 'gap';
    else this.#end();
    return used_bytes;
  }

  #size(rest: Buffer): number {
    const end = rest.indexOf('\r\n');
    if (end === -1) return 0;
    const size = Number.parseInt(rest.toString('latin1', 0, end), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    this.#left_bytes = size;
    this.#state = size === 0 ? 'trailer' : 'chunk';
    return end + 2;
  }

  #trailer(rest: Buffer): number {
    const end = rest.indexOf('\r\n');
    if (end === -1) return 0;
    if (end === 0) this.#end();
    return end + 2;
  }

  #end(): void {
    this.#state = 'head';
    this.#listener.onEnd(this.#reusable);
  }
}
