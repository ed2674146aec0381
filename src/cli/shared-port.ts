import type { AddressInfo } from 'node:net';
import { http } from '../common/node-http.ts';
import { type Address, closeListener, listen } from './listen.ts';

/** Whether several processes can listen at one port (`SO_REUSEPORT`): Linux and the BSDs can, macOS and Windows cannot. */
export async function canSharePorts(): Promise<boolean> {
  const server = http.createServer();
  try {
    await listen(server, { host: '127.0.0.1', port: 0 }, true);
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/**
 * The port of `address`, or a free one in place of 0, for processes that will share it. Rejects with an error that says so if another
 * program listens there: as one of those that share a port a worker would not notice, and both would get half of the connections.
 */
export async function unusedPort(address: Address): Promise<number> {
  const server = http.createServer();
  await listen(server, address, false);
  const { port } = server.address() as AddressInfo;
  await closeListener(server);
  return port;
}
