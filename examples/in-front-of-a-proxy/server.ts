import type { AddressInfo } from 'node:net';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import {
  auth,
  createChain,
  errorEnvelope,
  reasoningSplit,
  requestRewrite,
  streamRechunk,
  validation,
} from 'sluice';

const { PORT = '8080', UPSTREAM_URL = 'http://127.0.0.1:8000/v1', DEMO_KEY = '' } = process.env;

// The application's own proxy, unchanged.
const proxy = createProxyMiddleware({ target: new URL(UPSTREAM_URL).origin });

const models = [
  {
    id: 'aion-labs/aion-3.5',
    name: 'AionLabs: Aion 3.5',
    date: '2026-09-23',
    context_length: 262_144,
    max_completion_tokens: 32_768,
    pricing: { prompt: '0.000003', completion: '0.000006' },
    reasoning: true,
    tool_calls: true,
    reasoning_effort: { supported: true, levels: ['low', 'high', 'max'], default: 'high' },
  },
];
const accounts = { demo: { keys: [{ value: DEMO_KEY }] } };

// Stages run in order for requests and in reverse for replies. One of them alone works as well: app.use(auth({ accounts })).
const stages = [errorEnvelope(), auth(), validation(), requestRewrite(), streamRechunk(), reasoningSplit()];

const app = express();
// The proxy's server need not speak the Responses API: the chain makes responses from chat completions.
const chain = createChain(stages, { models, accounts, responses: { from_chat: true } });
app.use(chain, proxy);

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

process.once('SIGTERM', () => {
  process.on('SIGTERM', () => server.closeAllConnections()); // a second signal cuts running requests
  server.close(() => chain.close());
});
