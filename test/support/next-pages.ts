/**
 * Calls the API route of `examples/hosts/next` as a server of Next.js does: with Node's own request and response, the whole path in `url`,
 * and the body unread. Next.js itself takes 340 MB and LGPL libraries.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import handler from '../../examples/hosts/next/pages/api/[...path].ts';

const server = createServer((request, response) => {
  if (request.url?.startsWith('/api/')) return void handler(request, response);
  const isKnown = request.url === '/';
  response.writeHead(isKnown ? 200 : 404).end(isKnown ? 'the application\n' : 'not found\n');
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once('SIGTERM', () => server.close());
