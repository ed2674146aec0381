import type { RequestListener, Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gateway } from '../mount/gateway.ts';
import type { Closing } from '../mount/workers/worker-process.ts';
import type { ListenerMetrics } from '../telemetry/listener-metrics.ts';
import { handOver } from './hand-over.ts';
import { envelopeFormat } from './http-server.ts';
import { type Address, closeListener, listen, urlOf } from './listen.ts';
import { createListener } from './listener-certificate.ts';

/** Connections of clients may be idle for longer than those of common load balancers, which close them first. */
export const keep_alive_ms = 75_000;

/** A gateway that serves its public address in this process. */
export class PublicListener {
  readonly #gateway: Gateway;
  readonly #server: Server;
  readonly #waiting = new AbortController();
  /** Whether another process serves the address when this one ends. */
  #isReplaced: boolean;

  constructor(gateway: Gateway, metrics: ListenerMetrics) {
    this.#gateway = gateway;
    this.#isReplaced = gateway.settings.server.reuse_port;
    this.#server = createListener(gateway, 'server', this.#receive, { format: envelopeFormat, metrics });
    // In versions of Node that do not ask, each request with an Upgrade header would come without its body.
    if ('shouldUpgradeCallback' in this.#server) {
      this.#server.shouldUpgradeCallback = gateway.upgrades;
      this.#server.on('upgrade', gateway.upgrade);
    }
    // A streamed reply may last for hours; the arrival of the body is timed in `bytesOf` and `discardBody`.
    this.#server.requestTimeout = 0;
    this.#server.headersTimeout = 30_000;
    this.#server.keepAliveTimeout = keep_alive_ms;
  }

  get url(): string {
    return urlOf(this.#server);
  }

  /** Resolves when it serves; other processes may share the port if `isShared`. Rejects with an error that says which address is taken. */
  listen(address: Address, isShared: boolean): Promise<void> {
    return listen(this.#server, address, isShared);
  }

  /**
   * Serves on for `unready_ms`, in which load balancers notice; refuses new exchanges, lets running ones finish within `server.drain_ms`, and
   * closes the gateway and all connections. One that is replaced closes the listener instead of refusing.
   */
  async close({ unready_ms, isReplaced }: Closing): Promise<void> {
    const gateway = this.#gateway;
    this.#isReplaced ||= isReplaced;
    gateway.markUnready();
    const { signal } = this.#waiting;
    await sleep(unready_ms, undefined, { signal }).catch(() => {});
    // Otherwise the listener stays open while draining, so that clients read an error instead of failing to connect.
    const isInTime = !this.#isReplaced || (await handOver(this.#server, gateway, unready_ms, signal));
    try {
      await gateway.close(isInTime ? undefined : 0);
    } finally {
      await closeListener(this.#server);
    }
  }

  /** Makes `close` resolve soon: running exchanges end with an error and are settled. */
  abort(): void {
    this.#waiting.abort();
    // `close` reports the failure.
    this.#gateway.close(0).catch(() => {});
  }

  /**
   * While the gateway is unready, every reply closes its connection, so that the client's next request goes elsewhere; also one that began
   * before and could not announce it. With another process at the address only once the listener has closed, because half of the new
   * connections would come back until then. A reply that could not announce it then leaves its connection open for one more request, which
   * is served.
   */
  readonly #receive: RequestListener = (request, response) => {
    const gateway = this.#gateway;
    if (gateway.draining && !(this.#isReplaced && this.#server.listening))
      response.setHeader('connection', 'close');
    else response.once('finish', () => gateway.draining && !this.#isReplaced && request.socket.destroySoon());
    gateway(request, response);
  };
}
