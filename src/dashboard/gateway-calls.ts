import { createServer, type IncomingMessage, request as newRequest } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import type { RequestHandler } from '../chain/stage-plan.ts';

/** How many calls run at the same time. */
const max_running = 16;

/** A request of a client, for chat completions. */
export interface GatewayCall {
  /** JSON, sent as it is. */
  readonly body: string;
  /** Without one there is no header, and the gateway refuses as it sees fit. */
  readonly key: string;
  /** Ends the call as a client does that leaves. */
  readonly signal: AbortSignal;
}

/** All places are taken. */
export class TooManyCalls extends Error {
  override readonly name = 'TooManyCalls';
  readonly max_running = max_running;
}

/**
 * Calls the gateway as any client does: HTTP through its own handler, so with the same authentication, limits, settlement and records. The
 * connection lies within this process, because a mounted gateway has no listener of its own, and one of a sidecar may stand where only
 * its proxy reaches it.
 */
export class GatewayCalls {
  readonly #server;
  #running = 0;

  constructor(gateway: RequestHandler) {
    // Never listens: it is given its connections.
    this.#server = createServer((request, response) =>
      gateway(request, response, () => response.writeHead(404).end()),
    );
    // As on the public listener: a streamed reply may last for hours.
    this.#server.requestTimeout = 0;
  }

  /** The reply when its headers are there; the call holds its place until that has ended. Rejects with TooManyCalls, or when `signal` aborts. */
  chat({ body, key, signal }: GatewayCall): Promise<IncomingMessage> {
    if (this.#running >= max_running) return Promise.reject(new TooManyCalls('too many calls are running'));
    return new Promise((resolve, reject) => {
      const call = newRequest({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'sluice-playground',
          connection: 'close',
          ...(key !== '' && { authorization: `Bearer ${key}` }),
        },
        createConnection: () => this.#connected(),
        signal,
      });
      this.#running++;
      call.once('close', () => this.#running--);
      call.on('response', resolve).on('error', reject);
      call.end(body);
    });
  }

  /** The client's side of a new connection. */
  #connected(): Duplex {
    const [ours, theirs] = duplexPair();
    ours.on('close', () => theirs.destroy());
    // What was written before an orderly end is still there to be read.
    theirs.on('close', () => theirs.writableFinished || ours.destroy());
    this.#server.emit('connection', theirs);
    return ours;
  }
}
