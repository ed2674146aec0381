import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type buildConnector, Client, type Dispatcher } from 'undici';

/** The most that TLS's own goodbye takes, in bytes: an encrypted alert. The head of a reply is longer. */
const tls_alert_bytes = 31;

/** The use of a connection that has carried another request before. */
export interface ConnectionUse {
  readonly socket: Socket;
  /** Bytes that had come before the request was sent. */
  readonly read_bytes: number;
}

/** A handler of undici that wants to know the connection on which its request is sent. */
export interface ConnectionUser extends Dispatcher.DispatchHandler {
  connection: UpstreamConnection | undefined;
}

/** One connection of a pool, which counts its uses: undici tells none of them whether it is the first. */
export class UpstreamConnection extends Client {
  #socket: Socket | undefined;
  #uses = 0;

  constructor(origin: URL, options: Client.Options) {
    const connect = options.connect as buildConnector.connector;
    super(origin, {
      ...options,
      connect: (target, callback) =>
        connect(target, (...result) => {
          this.#opened(result[1] ?? undefined);
          callback(...result);
        }),
    });
  }

  /** A pool keeps its clients, and a closed socket what nobody has read of it: it is let go. */
  #opened(socket: Socket | undefined): void {
    this.#socket = socket;
    this.#uses = 0;
    socket?.once('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    (handler as ConnectionUser).connection = this;
    return super.dispatch(options, handler);
  }

  /** To be called for each request as it is about to be sent; undefined for the first one. */
  use(): ConnectionUse | undefined {
    const socket = this.#socket;
    if (this.#uses++ === 0 || !socket) return undefined;
    return { socket, read_bytes: socket.bytesRead };
  }
}

const lost: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Whether `error` says that a kept connection was closed by its server, which has sent no byte of a reply. */
export function isStale({ socket, read_bytes }: ConnectionUse, error: Error): boolean {
  if (!lost.has((error as NodeJS.ErrnoException).code)) return false;
  return socket.bytesRead - read_bytes <= (socket instanceof TLSSocket ? tls_alert_bytes : 0);
}
