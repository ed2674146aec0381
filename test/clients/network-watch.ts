import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Every request and connection that this process begins, whether it succeeds or not. */
class NetworkWatch {
  /** Names and addresses as they were asked for. */
  readonly hosts = new Set<string>();
  readonly #listeners: Readonly<Record<string, (message: unknown) => void>> = {
    // fetch, before a name is looked up
    'undici:request:create': message => {
      const { request } = message as { request: { origin?: string | URL } };
      this.hosts.add(request.origin ? new URL(request.origin).hostname : 'unknown');
    },
    // node:http and node:https
    'http.client.request.start': message => {
      const { request } = message as { request: { host?: string } };
      this.hosts.add(request.host ?? 'unknown');
    },
    // whatever else connects
    'net.client.socket': message => {
      const { socket } = message as { socket: Socket };
      socket.once('lookup', (_error, _address, _family, host) => this.hosts.add(host));
      socket.once('connectionAttempt', address => this.hosts.add(address));
    },
  };

  constructor() {
    for (const [channel, listener] of Object.entries(this.#listeners)) subscribe(channel, listener);
  }
}

/** From before the first library is loaded. */
export const network = new NetworkWatch();
