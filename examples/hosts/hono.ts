import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { createGateway } from 'sluice';

const app = new Hono();
app.get('/', c => c.text('the application\n'));
app.get('/broken', () => {
  throw new Error('an error of the application');
});

const gateway = await createGateway(process.argv[2] ?? 'sluice.yaml');
const application = getRequestListener(app.fetch);
const server = createServer((request, response) => {
  // In place of serve({ fetch: app.fetch }): what is not a path of the gateway is Hono's.
  gateway(request, response, () => void application(request, response));
});

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

// Running requests may finish; new ones are refused.
process.once('SIGTERM', async () => {
  process.on('SIGTERM', () => gateway.close(0).catch(() => {})); // a second one ends running requests
  await gateway.close().catch(err => {
    gateway.log.error({ err }, 'failed to close');
    process.exitCode = 1;
  });
  server.close();
});
