/** Servers of the benchmark, each a process: `proxy UPSTREAM` is the baseline, `gateway CONFIG` is sluice mounted in Express, `spans` takes spans and forgets them. */
import { Agent, createServer, type RequestListener } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { createGateway } from '../../../src/index.ts';
import { listen } from '../processes.ts';

const servers: Readonly<Record<string, (argument: string) => RequestListener | Promise<RequestListener>>> = {
  proxy: target => {
    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1024 });
    return express().use(createProxyMiddleware({ target, agent }));
  },
  gateway: async config => express().use(await createGateway(config)),
  // OTLP over HTTP.
  spans: () => (request, response) => {
    const end = () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    request.resume().on('end', end);
  },
};

const [, , name = '', argument = ''] = process.argv;
listen(createServer(await servers[name]!(argument)));
