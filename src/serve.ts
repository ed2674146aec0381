import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { adminHandler } from './admin.ts';
import type { GatewayOptions } from './assemble.ts';
import type { ConfigSource } from './config/load.ts';
import { refusal } from './errors.ts';
import { createGateway, type Gateway } from './gateway.ts';
import { requestIdOf } from './inbound/request-id.ts';

/** A gateway that listens on its own: the public address, the admin address, and their end. */
export interface Sidecar {
  readonly gateway: Gateway;
  readonly url: string;
  readonly adminUrl: string;
  /** Not ready, no new exchanges; running ones finish within `server.drain_ms`; then everything is closed. */
  close(): Promise<void>;
}

/** Starts both listeners. Throws a ConfigError, or an error that says which address is taken. */
export async function serve(
  source: ConfigSource,
  options: Pick<GatewayOptions, 'clock' | 'state' | 'registry'> = {},
): Promise<Sidecar> {
  const { registry = new Registry() } = options;
  collectDefaultMetrics({ register: registry });
  let url: string | undefined;
  const gateway = await createGateway(source, { ...options, terminal: true, registry, publicUrl: () => url });
  const { server, admin } = gateway.settings;
  const listeners: Server[] = [];
  try {
    const main = await listen(
      (request, response) => gateway(request, response, () => {}),
      server.host,
      server.port,
    );
    listeners.push(main);
    url = urlOf(main);
    main.on('clientError', answerMalformed);
    // A streamed reply may last for hours; only the request's own arrival is timed, and that in readBody.
    main.requestTimeout = 0;
    main.headersTimeout = 30_000;
    main.keepAliveTimeout = 75_000;
    const operators = await listen(adminHandler(gateway), admin.host, admin.port);
    listeners.push(operators);
    return {
      gateway,
      url,
      adminUrl: urlOf(operators),
      close: () => close(gateway, main, operators),
    };
  } catch (error) {
    for (const listener of listeners) listener.close();
    await gateway.close(0);
    throw error;
  }
}

/** What is not HTTP is answered in the one envelope as well, unless the connection has carried a reply already. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET' || (socket as Socket).bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const message = tooLarge ? 'The request headers are too large.' : 'The request is not valid HTTP.';
  const body = JSON.stringify(refusal('invalid_request', { message }).envelope());
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestIdOf({})}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

async function close(gateway: Gateway, main: Server, operators: Server): Promise<void> {
  // The listener stays open while draining: whoever still comes is told to go elsewhere, not refused a connection.
  await gateway.close();
  await Promise.all([main, operators].map(closeListener));
}

function closeListener(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1000).unref();
  });
}

function listen(listener: RequestListener, host: string, port: number): Promise<Server> {
  const server = createServer(listener);
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(
              `${host}:${port} is in use; set another port in the configuration, or --port and --admin-port for the demo`,
            )
          : error,
      );
    });
    server.listen(port, host, () => resolve(server));
  });
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
