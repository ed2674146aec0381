import type { IncomingHttpHeaders, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ReplySink } from '../outbound/reply-sink.ts';

/** What a foreign handler writes, as if it were an upstream's reply, and the real way out for what is made of it. */
export interface Interception {
  /** Resolves when the handler has begun its reply. */
  readonly head: Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders }>;
  /** The handler's body. Throws if the handler destroys the response in the middle. */
  readonly bytes: AsyncIterable<Buffer>;
  /** The response as it was before. */
  readonly sink: ReplySink;
  /** Gives the response back its own methods: the handler's reply goes out as it is. Only before the handler has begun. */
  restore(): void;
}

/** Headers that speak of the handler's bytes, which are written anew, or of what stands behind it. */
const dropped = [
  'content-length',
  'content-encoding',
  'content-type',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'etag',
  'server',
  'x-powered-by',
];

const high_water_bytes = 256 * 1024;

type Callback = ((error?: Error | null) => void) | undefined;

/**
 * Puts itself between a response and the handler behind the chain (design: the one place where a response is patched). The handler's
 * `writeHead`, `write`, `end` and `destroy` no longer reach the client.
 */
export function interceptResponse(response: ServerResponse & { flush?: () => void }): Interception {
  const own = {
    writeHead: response.writeHead,
    write: response.write,
    end: response.end,
    destroy: response.destroy,
    flushHeaders: response.flushHeaders,
  };
  const body = new HandlerBody(() => response.emit('drain'));
  let begin!: (head: { status: number; headers: IncomingHttpHeaders }) => void;
  const head = new Promise<{ status: number; headers: IncomingHttpHeaders }>(resolve => (begin = resolve));
  let begun = false;

  const beginOnce = () => {
    if (begun) return;
    begun = true;
    const headers = response.getHeaders() as IncomingHttpHeaders;
    for (const name of dropped) response.removeHeader(name);
    begin({ status: response.statusCode, headers: { ...headers } });
  };

  const patched = {
    writeHead(
      status: number,
      reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
      headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
    ) {
      response.statusCode = status;
      setHeaders(response, typeof reason === 'string' ? headers : reason);
      beginOnce();
      return response;
    },
    flushHeaders: beginOnce,
    write(part: unknown, encoding?: BufferEncoding | Callback, callback?: Callback): boolean {
      beginOnce();
      return body.push(part, encoding, callback);
    },
    end(part?: unknown, encoding?: BufferEncoding | Callback, callback?: Callback) {
      beginOnce();
      if (part != null && typeof part !== 'function') body.push(part, encoding, callback);
      body.finish(undefined);
      return response;
    },
    destroy(error?: Error) {
      beginOnce();
      body.finish(error ?? new Error('the handler destroyed the response'));
      return response;
    },
  };
  const restore = () => Object.assign(response, own);
  Object.assign(response, patched);
  return { head, bytes: body, sink: sinkOf(response, own), restore };
}

function setHeaders(
  response: ServerResponse,
  headers: OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined,
): void {
  if (Array.isArray(headers)) {
    for (let at = 0; at + 1 < headers.length; at += 2)
      response.setHeader(String(headers[at]), headers[at + 1]!);
    return;
  }
  for (const [name, value] of Object.entries(headers ?? {}))
    if (value !== undefined) response.setHeader(name, value);
}

function sinkOf(
  response: ServerResponse & { flush?: () => void },
  own: Pick<ServerResponse, 'writeHead' | 'write' | 'end' | 'destroy'>,
): ReplySink {
  return {
    writeHead: own.writeHead.bind(response),
    write: own.write.bind(response),
    end: own.end.bind(response),
    destroy: own.destroy.bind(response),
    on: response.on.bind(response),
    off: response.off.bind(response),
    flush: () => response.flush?.(),
    get destroyed() {
      return response.destroyed;
    },
    get headersSent() {
      return response.headersSent;
    },
    get statusMessage() {
      return response.statusMessage;
    },
    set statusMessage(text: string) {
      response.statusMessage = text;
    },
  };
}

/** The handler's bytes, queued for one reader; a full queue makes the handler wait for `drain`. */
class HandlerBody implements AsyncIterable<Buffer> {
  readonly #onDrained: () => void;
  #queue: Buffer[] = [];
  #queued_bytes = 0;
  #full = false;
  #ended = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(onDrained: () => void) {
    this.#onDrained = onDrained;
  }

  push(part: unknown, encoding?: BufferEncoding | Callback, callback?: Callback): boolean {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (done) process.nextTick(done, null);
    if (this.#ended) return true;
    const bytes =
      typeof part === 'string'
        ? Buffer.from(part, typeof encoding === 'string' ? encoding : 'utf8')
        : Buffer.from(part as Uint8Array);
    this.#queue.push(bytes);
    this.#queued_bytes += bytes.length;
    this.#full = this.#queued_bytes > high_water_bytes;
    this.#wakeUp();
    return !this.#full;
  }

  finish(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wakeUp();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    while (true) {
      const bytes = this.#queue.shift();
      if (bytes) {
        this.#queued_bytes -= bytes.length;
        if (this.#full && this.#queue.length === 0) {
          this.#full = false;
          this.#onDrained();
        }
        yield bytes;
      } else if (this.#error) throw this.#error;
      else if (this.#ended) return;
      else await new Promise<void>(wake => (this.#wake = wake));
    }
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
