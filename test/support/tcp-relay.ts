import { createServer, connect as dial, type Server, type Socket } from 'node:net';

/** An address of 127.0.0.1 behind which servers change, as behind a DNS name or a proxy. */
export class TcpRelay {
  /** Where new connections lead; those that are open stay where they are. */
  port: number;
  /** What servers answer is thrown away while it is set, on all connections. */
  swallowsReplies = false;
  /** How many connections were opened through it. */
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(port: number) {
    this.port = port;
    this.#server = createServer(client => this.#connected(client));
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  listen(): Promise<void> {
    return new Promise(resolve => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #connected(client: Socket): void {
    this.connections++;
    const server = dial(this.port, '127.0.0.1');
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', chunk => server.write(chunk));
    server.on('data', chunk => {
      if (!this.swallowsReplies) client.write(chunk);
    });
  }
}
