/** Where a traced contestant sends its spans (OTLP over HTTP): counts them, forgets them, and tells how many when it is asked. */
import { createServer } from 'node:http';
import { announce } from './announce.ts';
import { spansIn } from './otlp-spans.ts';

let spans = 0;
const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    spans += spansIn(Buffer.concat(parts));
    response.writeHead(200, { 'content-type': 'application/x-protobuf', 'content-length': 0 }).end();
  });
});
process.on('message', () => process.send?.({ spans }));
announce(server);
