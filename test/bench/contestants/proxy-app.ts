/** The baseline as a process: http-proxy-middleware in Express, with connections kept alive to the upstream. */
import { Agent, createServer } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { announce } from './announce.ts';

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1024 });
const app = express();
app.use(createProxyMiddleware({ target: `http://127.0.0.1:${process.argv[2]}`, agent }));
announce(createServer(app));
