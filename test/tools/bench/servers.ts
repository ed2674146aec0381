/**
 * Servers of the benchmark, each a process: `proxy UPSTREAM` is the baseline, `proxy-keep-alive UPSTREAM` the same with an agent, `hand-written
 * UPSTREAM` a gateway of 80 lines, `gateway CONFIG` is sluice mounted in Express, `spans` takes spans and forgets them.
 */
import { Agent, createServer, type Server } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { createGateway } from '../../../src/index.ts';
import { listen } from '../processes.ts';
import { handWrittenGateway } from './hand-written-gateway.ts';

const servers: Readonly<Record<string, (argument: string) => Server | Promise<Server>>> = {
  proxy: target => createServer(express().use(createProxyMiddleware({ target }))),
  'proxy-keep-alive': target => {
    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1024 });
    return createServer(express().use(createProxyMiddleware({ target, agent })));
  },
  'hand-written': handWrittenGateway,
  gateway: async config => createServer(express().use(await createGateway(config))),
  // OTLP over HTTP.
  spans: () =>
    createServer((request, response) => {
      const end = () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      request.resume().on('end', end);
    }),
};

const [, , name = '', argument = ''] = process.argv;
listen(await servers[name]!(argument));
