import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ConfigSource } from '../config/load.ts';
import { type Gateway, openGateway } from '../gateway.ts';
import { checkGatewayOptions, type GatewayOptions } from '../gateway-options.ts';
import { ListenerMetrics } from '../telemetry/listener-metrics.ts';
import { registerLogMetrics } from '../telemetry/log.ts';
import { adminHandler } from './admin-listener.ts';
import { openAdminSocket } from './admin-socket.ts';
import { createListener } from './create-listener.ts';
import { envelopeFormat, textFormat } from './http-server.ts';
import { type AddressChoice, listenAddresses } from './listen-addresses.ts';

/** A gateway with its public and its admin listener. */
export interface Sidecar {
  readonly gateway: Gateway;
  readonly url: string;
  readonly adminUrl: string;
  /**
   * Shuts down: unready at once; refuses new exchanges after `unready_ms` (default: `server.unready_ms`); lets running ones finish within
   * `server.drain_ms`; then closes everything.
   */
  close(unready_ms?: number): Promise<void>;
  /** Makes `close` resolve soon: running exchanges end with an error and are settled. */
  abort(): void;
}

/** Starts both listeners. Throws a ConfigError, or an error that says which address is taken. */
export async function serve(
  source: ConfigSource,
  options: Pick<GatewayOptions, 'clock' | 'state'> & { readonly registry?: Registry } = {},
  choice: AddressChoice = {},
): Promise<Sidecar> {
  checkGatewayOptions(options, 'options of serve');
  const { registry = new Registry() } = options;
  collectDefaultMetrics({ register: registry });
  registerLogMetrics(registry);
  let url: string | undefined;
  const opened = await openGateway(source, { ...options, terminal: true, registry, publicUrl: () => url });
  const { gateway } = opened;
  const { reuse_port } = gateway.settings.server;
  const { socket } = gateway.settings.admin;
  const listeners: Server[] = [];
  try {
    const { server, admin, ignoredHost } = listenAddresses(gateway.settings, choice);
    if (ignoredHost !== undefined)
      gateway.log.warn({ host: ignoredHost }, 'HOST is not an IP address and is ignored');
    const metrics = new ListenerMetrics(registry);
    const isListening = () => main.listening;
    const main: Server = createListener(gateway, 'server', receiver(gateway, isListening), {
      format: envelopeFormat,
      metrics,
    });
    await listen(main, server, reuse_port);
    listeners.push(main);
    url = urlOf(main);
    // A streamed reply may last for hours; the arrival of the body is timed in `bytesOf` and `discardBody`.
    main.requestTimeout = 0;
    main.headersTimeout = 30_000;
    main.keepAliveTimeout = 75_000;
    const handler = adminHandler(opened);
    const operators = createListener(gateway, 'admin', handler, { format: textFormat, metrics });
    operators.keepAliveTimeout = main.keepAliveTimeout;
    await listen(operators, admin, reuse_port);
    listeners.push(operators);
    if (socket !== undefined) listeners.push(await openAdminSocket(gateway, socket, handler, reuse_port));
    return { gateway, url, adminUrl: urlOf(operators), ...endOf(gateway, main, listeners.slice(1)) };
  } catch (error) {
    for (const listener of listeners) listener.close();
    await gateway.close(0);
    throw error;
  }
}

/**
 * Listener of the gateway. While it is unready, every reply closes its connection, so that the client's next request goes elsewhere; also one
 * that began before and could not announce it. With `reuse_port` only once the listener has closed, because half of the new connections would
 * come back until then. A reply that could not announce it then leaves its connection open for one more request, which is served.
 */
function receiver(gateway: Gateway, isListening: () => boolean): RequestListener {
  const { reuse_port } = gateway.settings.server;
  return (request, response) => {
    if (gateway.draining && !(reuse_port && isListening())) response.setHeader('connection', 'close');
    else if (!reuse_port) response.once('finish', () => gateway.draining && request.socket.destroySoon());
    gateway(request, response);
  };
}

/** Shortest time for requests of open connections after the listener has closed in favour of another process. */
const hand_over_ms = 500;

function endOf(
  gateway: Gateway,
  main: Server,
  operators: readonly Server[],
): Pick<Sidecar, 'close' | 'abort'> {
  const { reuse_port } = gateway.settings.server;
  const waiting = new AbortController();
  let closed: Promise<void> | undefined;
  const finish = async (unready_ms: number) => {
    gateway.markUnready();
    // Another process listens at the same addresses and answers probes and scrapes from now on.
    if (reuse_port) await Promise.all(operators.map(closeListener));
    await sleep(unready_ms, undefined, { signal: waiting.signal }).catch(() => {});
    // Otherwise the listener stays open while draining, so that clients read an error instead of failing to connect.
    const wait_ms = Math.max(hand_over_ms, unready_ms);
    const isInTime = !reuse_port || (await handOver(main, gateway, wait_ms, waiting.signal));
    try {
      await gateway.close(isInTime ? undefined : 0);
    } finally {
      await Promise.all([main, ...operators].map(closeListener));
    }
  };
  const close = (unready_ms = gateway.settings.server.unready_ms): Promise<void> =>
    (closed ??= finish(unready_ms));
  const abort = (): void => {
    waiting.abort();
    // `close` reports the failure.
    gateway.close(0).catch(() => {});
  };
  return { close, abort };
}

/**
 * Stops accepting connections, because another process does. Waits `wait_ms` for the next request of open ones, whose reply closes them, and
 * then, within `drain_ms`, until no exchange has run for half a second: each that could not announce the end may have one request behind it.
 * Resolves with false if some still run. The listener closes when no connection waits: the kernel resets those that do, unless
 * `net.ipv4.tcp_migrate_req` is set.
 */
async function handOver(
  server: Server,
  gateway: Gateway,
  wait_ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  await acceptWaiting(server, signal);
  // That of `node:http` would close idle connections, on which the next request may be under way.
  NetServer.prototype.close.call(server);
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  await pause(wait_ms);
  const end_ms = performance.now() + gateway.settings.server.drain_ms;
  let quiet_ms = gateway.inFlight > 0 ? 0 : hand_over_ms;
  while (quiet_ms < hand_over_ms && !signal.aborted && performance.now() < end_ms) {
    await pause(look_ms);
    quiet_ms = gateway.inFlight > 0 ? 0 : quiet_ms + look_ms;
  }
  // What has arrived is read first.
  await nextTurn();
  server.closeIdleConnections();
  return gateway.inFlight === 0;
}

/** Time between two looks at whether exchanges still run. */
const look_ms = 50;

/** Longest time for accepting the connections that wait, on a process that is too busy to catch up. */
const accept_ms = 10_000;

/** Resolves when no connection waits to be accepted. libuv accepts one in each turn of the event loop. */
async function acceptWaiting(server: Server, signal: AbortSignal): Promise<void> {
  let hasAccepted = true;
  const onConnection = () => void (hasAccepted = true);
  server.on('connection', onConnection);
  const end_ms = performance.now() + accept_ms;
  while (hasAccepted && !signal.aborted && performance.now() < end_ms) {
    hasAccepted = false;
    await nextTurn();
  }
  server.off('connection', onConnection);
}

/** Closes a listener and its connections, busy ones after a second; may be called twice. */
function closeListener(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1000).unref();
  });
}

/**
 * Connections that may wait to be accepted. With Node's default of 511, a thousand clients that connect within a pause of one second wait
 * for retransmissions, and are reset after a minute. The kernel lowers it to `net.core.somaxconn`.
 */
const connection_backlog = 4096;

async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  reusePort: boolean,
): Promise<void> {
  server.listen({ host, port, backlog: connection_backlog, reusePort });
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new Error(
      `${host}:${port} is in use; set another port in the configuration, or with --port and --admin-port`,
    );
  });
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `${server instanceof TlsServer ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
