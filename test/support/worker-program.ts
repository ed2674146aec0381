import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { openGateway } from '../../src/mount/gateway.ts';
import { Channel } from '../../src/mount/workers/channel.ts';

/** A worker on a port of its own, so that a test can choose which one it asks. It has its configuration from the primary. */
const primary = new Channel(process);
const config = (await primary.request('test.config')) as GatewayConfig;
const { gateway } = await openGateway(config, { terminal: true }, () => ({ primary }));
const server = createServer((request, response) => gateway(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
primary.handle('test.end', async () => {
  server.close();
  await gateway.close();
});
await primary.request('test.listening', (server.address() as AddressInfo).port);
