import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { createGateway, type Gateway } from '../../src/index.ts';
import { adminApiKeys } from './admin-api-client.ts';
import { sidecarConfig } from './sidecar-process.ts';

/** A gateway in this process whose Admin API is mounted as an application does. */
export interface AdminApiHere {
  readonly gateway: Gateway;
  /** In place of the address of the admin listener. */
  readonly adminUrl: string;
  close(): Promise<void>;
}

/** Opens one with a key for each role. */
export async function adminApiHere(
  more: Partial<GatewayConfig> = {},
  options: Parameters<typeof createGateway>[1] = {},
): Promise<AdminApiHere> {
  const admin_api = { enabled: true, keys: adminApiKeys };
  const config = { log: { level: 'silent' }, admin_api, ...more } as Partial<GatewayConfig>;
  const gateway = await createGateway(sidecarConfig('http://127.0.0.1:9/v1', config), options);
  const { admin } = gateway.extension('admin-api');
  const server = createServer((request, response) => {
    request.url = request.url!.replace(/^\/admin-api/, '');
    admin(request, response, () => response.writeHead(404).end('{}'));
  });
  // On a machine that is busy, seconds may pass between two requests.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const adminUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    await gateway.close(0);
  };
  return { gateway, adminUrl, close };
}
