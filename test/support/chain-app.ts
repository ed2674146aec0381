import { type Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { z } from 'zod';
import { defaultModels } from '../../src/config/example-models.ts';
import {
  auth,
  type ChainOptions,
  createChain,
  errorEnvelope,
  rateLimit,
  reasoningSplit,
  requestRewrite,
  streamRechunk,
  validation,
} from '../../src/index.ts';
import { defineStage, type Outcome } from '../../src/plugin.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { clientKey } from './gateway-under-test.ts';

const log = createLog('silent');
const accounts = { tester: { keys: [{ value: clientKey }] } };
/** The example catalog for a chain, without upstreams: the handler chooses them. */
const models = defaultModels('handler').map(({ upstreams: _, ...model }) => model);

/** Every built-in stage, in the default order. */
export const allStages = () => [
  errorEnvelope(),
  auth(),
  validation(),
  rateLimit(),
  requestRewrite(),
  streamRechunk(),
  reasoningSplit(),
];

type Stages = Parameters<typeof createChain>[0];

/** A chain that knows the example catalog and, where it has `auth`, one account, `tester`, with the key `clientKey`. */
export const chainOf = (stages: Stages = allStages(), options: ChainOptions = {}) => {
  const hasAuth = stages.some(({ plan }) => plan.name === 'auth');
  return createChain(stages, { models, log, ...(hasAuth && { accounts }), ...options });
};

/** The application's own proxy, unchanged for the chain; without an agent it has connections that the upstream may just be closing. */
export const proxyTo = (upstream: { readonly url: string }, agent?: Agent) =>
  createProxyMiddleware({ target: new URL(upstream.url).origin, ...(agent && { agent }) });

/** A stage that remembers how exchanges have ended. */
export function settlements() {
  const outcomes: Outcome[] = [];
  const stage = defineStage({
    name: 'settlements',
    schema: z.strictObject({}),
    create: () => ({ onSettled: (_, outcome) => void outcomes.push(outcome) }),
  });
  return { outcomes, stage: stage() };
}

/** POSTs JSON with the key. */
export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${clientKey}`, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** What an echo server has received. */
export interface Echo {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A server that answers every request with what it has received. */
export async function startEcho(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const echo = { method, path, headers, text: Buffer.concat(parts).toString() };
      response.setHeader('x-upstream', 'echo');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(echo));
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
