import { gateway_core } from '../children.ts';
import type { TaskName } from '../tasks.ts';
import { type Contestant, proxied } from './contestant.ts';
import { versionOf } from './package-version.ts';

const startProxy: Contestant['start'] = async ({ children, upstream_port }) => {
  const child = children.startOwn(gateway_core, 'contestants/proxy-app.ts', [String(upstream_port)]);
  const { port } = (await child.message()) as { port: number };
  const version = `${versionOf('http-proxy-middleware')}, Express ${versionOf('express')}`;
  return { port, pid: child.pid, version };
};

/** The baseline: a proxy mounted in Express that looks at nothing. */
export const httpProxyMiddleware: Contestant = {
  name: 'http-proxy-middleware',
  title: 'http-proxy-middleware in Express',
  task: 'chat',
  streamed: [proxied],
  start: startProxy,
};

/** The same before the path that sluice passes through. */
const proxyOf = (task: TaskName): Contestant => ({
  name: `http-proxy-middleware-${task}`,
  title: 'http-proxy-middleware in Express',
  task,
  streamed: [],
  start: startProxy,
});

export const proxyOfEmbeddings = proxyOf('embeddings');
export const proxyOfBatches = proxyOf('embeddings-batch');
