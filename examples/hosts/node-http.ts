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

process.once('SIGTERM', async () => {
  // Running exchanges may finish; new ones are refused.
  await gateway.close();
  server.close();
});
