import { Agent as HttpsAgent } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock } from '../../../common/clock.ts';
import { hour_ms } from '../../../common/durations.ts';

/** Time after which an address that was not connected to counts no more: servers leave, and their certificates with them. */
const forget_ms = hour_ms;
const max_addresses = 100;

/** When the certificates of one provider end, as seen on its TLS connections. */
export class CertificateExpiry {
  readonly #clock: Clock;
  /** The end of the last certificate by address, in Unix milliseconds; the least recent connection first. */
  readonly #seen = new Map<string, { readonly ends_ms: number; readonly seen_ms: number }>();
  /** Since when connections fail because a certificate has expired: Node does not show that one. */
  #expired_ms: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Unix milliseconds at which the first of the certificates last seen ends, or at which one was first found to have ended; undefined
   * without a TLS connection so far.
   */
  get soonest_ms(): number | undefined {
    const ends_ms = [...this.#seen.values()].map(seen => seen.ends_ms);
    if (this.#expired_ms !== undefined) ends_ms.push(this.#expired_ms);
    return ends_ms.length === 0 ? undefined : Math.min(...ends_ms);
  }

  /** `connect` of undici, whose TLS connections are looked at. */
  watched(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result) => {
        const [error, socket] = result;
        if (error) this.#failed(error);
        else if (socket instanceof TLSSocket) this.#connected(socket);
        callback(...result);
      });
  }

  /** An agent of `node:https` whose connections are looked at. */
  agent(options: ConstructorParameters<typeof HttpsAgent>[0]): HttpsAgent {
    const agent = new HttpsAgent(options);
    const create = agent.createConnection;
    agent.createConnection = (...given) => {
      const socket = create.apply(agent, given);
      if (socket instanceof TLSSocket)
        socket
          .once('secureConnect', () => this.#connected(socket))
          .once('error', error => this.#failed(error));
      return socket;
    };
    return agent;
  }

  #failed(error: NodeJS.ErrnoException): void {
    if (error.code === 'CERT_HAS_EXPIRED') this.#expired_ms ??= this.#clock.epoch_ms();
  }

  #connected(socket: TLSSocket): void {
    this.#expired_ms = undefined;
    // It would be the certificate of the connection on which the session began.
    if (socket.isSessionReused()) return;
    const ends_ms = socket.getPeerX509Certificate()?.validToDate.getTime();
    if (ends_ms === undefined) return;
    const seen_ms = this.#clock.elapsed_ms();
    const { remoteAddress = '' } = socket;
    this.#seen.delete(remoteAddress);
    for (const [address, { seen_ms: last_ms }] of this.#seen) {
      if (seen_ms - last_ms < forget_ms && this.#seen.size < max_addresses) break;
      this.#seen.delete(address);
    }
    this.#seen.set(remoteAddress, { ends_ms, seen_ms });
  }
}
