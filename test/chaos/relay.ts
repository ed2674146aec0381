import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One TCP address whose new connections lead to a port that can be changed; those that are open stay where they are. */
export class Relay {
  port: number;
  readonly #open = new Set<Socket>();
  readonly #server = createServer(client => {
    const server = connect(this.port, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(from);
      from
        .on('error', () => {})
        .on('close', () => {
          this.#open.delete(from);
          to.destroy();
        });
      from.pipe(to);
    }
  });

  constructor(port: number) {
    this.port = port;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }
}
