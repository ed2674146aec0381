import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** Where a server listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Connections that may wait to be accepted. With Node's default of 511, a thousand clients that connect within a pause of one second wait
 * for retransmissions, and are reset after a minute. The kernel lowers it to `net.core.somaxconn`.
 */
const connection_backlog = 4096;

/** Resolves when `server` listens. Rejects with an error that says which address is taken. */
export async function listen(server: Server, { host, port }: Address, reusePort: boolean): Promise<void> {
  server.listen({ host, port, backlog: connection_backlog, reusePort });
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new Error(
      `${host}:${port} is in use; set another port in the configuration, or with --port and --admin-port`,
    );
  });
}

/** The URL of a server that listens at an address of IP. */
export function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `${server instanceof TlsServer ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Closes a listener and its connections, busy ones after a second; may be called twice. */
export function closeListener(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1000).unref();
  });
}
