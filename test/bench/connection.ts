import { connect, type Socket } from 'node:net';
import { type ReplyListener, ReplyParser } from './reply-parser.ts';

/** What a connection tells beside replies. */
export interface ConnectionListener extends ReplyListener {
  /** It broke, or was closed in the middle of a reply or before one that was asked for. */
  onFault(error: Error): void;
}

/** One connection that sends one request at a time, and connects again when the server has closed it between two. */
export class Connection {
  readonly #port: number;
  readonly #listener: ConnectionListener;
  #socket: Socket | undefined;
  #busy = false;

  constructor(port: number, listener: ConnectionListener) {
    this.#port = port;
    this.#listener = listener;
  }

  send(request: Buffer): void {
    this.#busy = true;
    this.#socket ??= this.#open();
    this.#socket.write(request);
  }

  close(): void {
    this.#busy = false;
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open(): Socket {
    const parser = new ReplyParser({
      onHead: status => this.#listener.onHead(status),
      onBody: bytes => this.#listener.onBody(bytes),
      onEnd: reusable => {
        this.#busy = false;
        if (!reusable) this.close();
        this.#listener.onEnd(reusable);
      },
    });
    const read = (length: number, buffer: Uint8Array) => {
      try {
        parser.feed((buffer as Buffer).subarray(0, length));
      } catch (thrown) {
        this.#fail(socket, thrown as Error);
      }
      return true;
    };
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      // One buffer for the life of the connection: the generator must cost less than what it measures.
      onread: { buffer: Buffer.allocUnsafe(64 * 1024), callback: read },
    });
    socket.on('error', error => this.#fail(socket, error));
    socket.on('close', () =>
      this.#fail(socket, new Error('the connection was closed before the end of a reply')),
    );
    return socket;
  }

  #fail(socket: Socket, error: Error): void {
    if (socket !== this.#socket) return;
    const expected = !this.#busy;
    this.close();
    if (!expected) this.#listener.onFault(error);
  }
}
