import type { Contestant } from './contestant.ts';

/** No gateway: what the load generator and the upstream are able to do. */
export const direct: Contestant = {
  name: 'direct',
  title: 'no gateway (reference)',
  task: 'chat',
  streamed: [],
  start: async ({ upstream_port }) => ({ port: upstream_port, pid: undefined, version: '' }),
};
