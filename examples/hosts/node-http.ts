import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGateway } from 'sluice';

const gateway = await createGateway(process.argv[2] ?? 'sluice.yaml');

const server = createServer((request, response) => {
  // Called for every path that is not the gateway's. Without the application: createServer(gateway).
  gateway(request, response, () => {
    const isKnown = request.url === '/';
    response.writeHead(isKnown ? 200 : 404).end(isKnown ? 'the application\n' : 'not found\n');
  });
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
