import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type Headers = Readonly<Record<string, string | number>>;

/** A request as the upstream received it. Header names are in lower case. */
export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body parsed; empty when it is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The number of the connection it came on, from 0: equal numbers show that a connection was used again. */
  readonly connection: number;
  /** Resolves, once the connection is closed, with the side that ended it first. */
  readonly closed: Promise<'gateway' | 'upstream'>;
  /** Whether the connection is closed. */
  readonly isClosed: boolean;
}

/** Bytes to write as they are, or what to do with the socket. */
export type Script = string | Buffer | ((socket: Socket, request: UpstreamRequest) => unknown);

/** A server that plays exact bytes, valid HTTP or not. */
export class ScriptedUpstream {
  readonly requests: UpstreamRequest[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #once: Script[] = [];
  #script: Script;
  #connections = 0;

  constructor(script: Script) {
    this.#script = script;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#connected(socket));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** With `/v1`, as a provider's `base_url`. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** The newest request. */
  get last(): UpstreamRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error('the upstream has received no request');
    return last;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Sets the reply to every request from now on. */
  reply(script: Script): void {
    this.#script = script;
  }

  /** Sets the reply to the next request only, before `reply` applies again; calls queue up. */
  replyOnce(script: Script): void {
    this.#once.push(script);
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
  }

  close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    return closed;
  }

  #connected(socket: Socket): void {
    const connection = this.#connections++;
    let endedBy: 'gateway' | 'upstream' = 'upstream';
    this.#sockets.add(socket);
    // Our own endings raise no error, so an error is a reset by the gateway.
    socket.on('error', () => {
      if (!socket.writableEnded) endedBy = 'gateway';
    });
    socket.on('end', () => {
      if (!socket.writableEnded) endedBy = 'gateway';
      socket.end();
    });
    const closed = new Promise<'gateway' | 'upstream'>(resolve => {
      socket.once('close', () => {
        this.#sockets.delete(socket);
        resolve(endedBy);
      });
    });
    const inbox = new Inbox();
    socket.on('data', bytes => {
      for (const received of inbox.take(bytes)) {
        const request: UpstreamRequest = {
          ...received,
          connection,
          closed,
          get isClosed() {
            return socket.closed;
          },
        };
        this.requests.push(request);
        const script = this.#once.shift() ?? this.#script;
        if (typeof script === 'function') script(socket, request);
        else socket.write(script);
      }
    });
  }
}

type Received = Pick<UpstreamRequest, 'method' | 'path' | 'headers' | 'text' | 'body'>;

/** The requests of one connection, put together from its reads. */
class Inbox {
  #bytes = Buffer.alloc(0);

  *take(bytes: Buffer): Generator<Received> {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    while (true) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      const [start = '', ...lines] = this.#bytes.toString('latin1', 0, end).split('\r\n');
      const [method = '', path = ''] = start.split(' ');
      const headers = Object.fromEntries(
        lines.map(line => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
        }),
      );
      const after = end + 4 + Number(headers['content-length'] ?? 0);
      if (this.#bytes.length < after) return;
      const text = this.#bytes.toString('utf8', end + 4, after);
      this.#bytes = this.#bytes.subarray(after);
      yield { method, path, headers, text, body: objectOf(text) };
    }
  }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Listens on a free port of the loopback address. */
export async function startScriptedUpstream(script: Script = ''): Promise<ScriptedUpstream> {
  const upstream = new ScriptedUpstream(script);
  await upstream.listen();
  return upstream;
}

/** Status line and headers. Without `content-length` or `transfer-encoding` the body ends with the connection. */
export function head(status: number, headers: Headers = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`;
}

/** A reply with `content-length`; an object is sent as JSON. */
export function whole(status: number, body: string | Buffer | object, headers: Headers = {}): Buffer {
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const bytes = Buffer.from(isText ? body : JSON.stringify(body));
  const fields = { 'content-type': 'application/json', ...headers, 'content-length': bytes.length };
  return Buffer.concat([Buffer.from(head(status, fields)), bytes]);
}

/** The head of a chunked event stream. */
export const streamHead = (headers: Headers = {}): string =>
  head(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    ...headers,
    'transfer-encoding': 'chunked',
  });

/** `bytes` as one chunk of chunked transfer encoding. */
export function chunk(bytes: string | Buffer): Buffer {
  const body = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
}

/** The end of a chunked body. */
export const lastChunk = '0\r\n\r\n';

/** A whole event stream: head, `body` in one chunk, end. */
export function streamed(body: string | Buffer, headers: Headers = {}): Buffer {
  return Buffer.concat([Buffer.from(streamHead(headers)), chunk(body), Buffer.from(lastChunk)]);
}

/** One event for each part: strings as they are, objects as JSON. */
export const events = (...parts: readonly (string | object)[]): string =>
  parts.map(part => `data: ${typeof part === 'string' ? part : JSON.stringify(part)}\n\n`).join('');

/** Writes the pieces one by one, each in a packet of its own; nothing follows, so without an end it is a stall. */
export const pieces =
  (parts: readonly (string | Buffer)[], pause_ms = 5): Script =>
  async socket => {
    for (const part of parts) {
      if (socket.destroyed) return;
      socket.write(part);
      await sleep(pause_ms);
    }
  };

/** Writes the pieces and closes the connection in order. */
export const thenClose =
  (...parts: readonly (string | Buffer)[]): Script =>
  socket => {
    for (const part of parts) socket.write(part);
    socket.end();
  };

/** Writes the pieces, lets them arrive, and resets the connection. */
export const thenReset =
  (...parts: readonly (string | Buffer)[]): Script =>
  async socket => {
    for (const part of parts) socket.write(part);
    if (parts.length > 0) await sleep(50);
    socket.resetAndDestroy();
  };
