import type { Server } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ConfigSource } from '../config/load.ts';
import { type Gateway, openGateway } from '../mount/gateway.ts';
import { checkGatewayOptions, type GatewayOptions } from '../mount/gateway-options.ts';
import type { Closing } from '../mount/workers/worker-process.ts';
import { ListenerMetrics } from '../telemetry/listener-metrics.ts';
import { registerLogMetrics } from '../telemetry/log.ts';
import { WorkerPoolMetrics } from '../telemetry/worker-pool-metrics.ts';
import { adminHandler } from './admin-listener.ts';
import { openAdminSocket } from './admin-socket.ts';
import { textFormat } from './http-server.ts';
import { type Address, closeListener, listen, urlOf } from './listen.ts';
import { type AddressChoice, listenAddresses } from './listen-addresses.ts';
import { createListener } from './listener-certificate.ts';
import { Primary } from './primary.ts';
import { keep_alive_ms, PublicListener } from './public-listener.ts';
import { canSharePorts } from './shared-port.ts';
import { workersOf } from './workers-of.ts';

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

/** What serves the public address: this process, or its workers. */
interface Front {
  readonly url: string;
  close(closing: Closing): Promise<void>;
  abort(): void;
}

/** Starts both listeners. Throws a ConfigError, or an error that says which address is taken. */
export async function serve(
  source: ConfigSource,
  options: Pick<GatewayOptions, 'clock' | 'log' | 'state'> & { readonly registry?: Registry } = {},
  choice: AddressChoice = {},
): Promise<Sidecar> {
  checkGatewayOptions(options, 'options of serve');
  const { registry = new Registry() } = options;
  collectDefaultMetrics({ register: registry });
  registerLogMetrics(registry);
  let front: Front | undefined;
  let primary: Primary | undefined;
  const opened = await openGateway(
    source,
    { ...options, terminal: true, registry, publicUrl: () => front?.url },
    async settings => {
      if (workersOf(settings) === 1 || !(await canSharePorts())) return {};
      primary = new Primary(choice);
      return primary.process;
    },
  );
  const { gateway } = opened;
  const { reuse_port } = gateway.settings.server;
  const { socket } = gateway.settings.admin;
  const operators: Server[] = [];
  try {
    const { server, admin, ignoredHost } = listenAddresses(gateway.settings, choice);
    if (ignoredHost !== undefined)
      gateway.log.warn({ host: ignoredHost }, 'HOST is not an IP address and is ignored');
    if (!primary && workersOf(gateway.settings) > 1)
      gateway.log.warn('processes cannot share a port on this system: server.workers has no effect');
    const metrics = new ListenerMetrics(registry);
    const workers = new WorkerPoolMetrics(registry);
    // Without workers this process is the only one.
    if (!primary) workers.watch(() => ({ ready: gateway.ready ? 1 : 0, all: 1 }));
    front = await (primary ? primary.start(gateway, workers) : startListener(gateway, metrics, server));
    const handler = adminHandler(opened);
    const operator = createListener(gateway, 'admin', handler, { format: textFormat, metrics });
    operator.keepAliveTimeout = keep_alive_ms;
    await listen(operator, admin, reuse_port);
    operators.push(operator);
    if (socket !== undefined) operators.push(await openAdminSocket(gateway, socket, handler, reuse_port));
    return { gateway, url: front.url, adminUrl: urlOf(operator), ...endOf(gateway, front, operators) };
  } catch (error) {
    for (const listener of operators) listener.close();
    front?.abort();
    await front?.close({ unready_ms: 0, isReplaced: false });
    await gateway.close(0);
    throw error;
  }
}

async function startListener(gateway: Gateway, metrics: ListenerMetrics, address: Address): Promise<Front> {
  const listener = new PublicListener(gateway, metrics);
  await listener.listen(address, gateway.settings.server.reuse_port);
  return listener;
}

function endOf(
  gateway: Gateway,
  front: Front,
  operators: readonly Server[],
): Pick<Sidecar, 'close' | 'abort'> {
  let closed: Promise<void> | undefined;
  const finish = async (unready_ms: number) => {
    gateway.markUnready();
    // Another process listens at the same addresses and answers probes and scrapes from now on.
    if (gateway.settings.server.reuse_port) await Promise.all(operators.map(closeListener));
    try {
      await front.close({ unready_ms, isReplaced: false });
    } finally {
      await Promise.all(operators.map(closeListener));
    }
  };
  const close = (unready_ms = gateway.settings.server.unready_ms): Promise<void> =>
    (closed ??= finish(unready_ms));
  return { close, abort: () => front.abort() };
}
