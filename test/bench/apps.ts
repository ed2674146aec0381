/** Express applications that are measured, each a process: `proxy UPSTREAM` is the baseline, `gateway CONFIG` is sluice mounted. */
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { createGateway } from '../../src/index.ts';

const [kind, argument = ''] = process.argv.slice(2);
const app = express();
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1024 });
app.use(
  kind === 'proxy' ? createProxyMiddleware({ target: argument, agent }) : await createGateway(argument),
);
const server = createServer(app).listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
process.on('disconnect', () => process.exit());
