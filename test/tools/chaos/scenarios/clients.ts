import { everydayKinds } from '../clients/healthy.ts';
import { cutKinds, hostileKinds } from '../clients/hostile.ts';
import { stalledReader } from '../clients/misbehaving.ts';
import type { Scenario, Servers } from '../scenario.ts';

const good = { count: 8, kinds: everydayKinds };
const withServer = (server: object): Servers => ({
  config: config => ({ ...config, server: { ...config.server, ...server } }),
});

/** Clients that harm, beside clients that do not. */
export const clientScenarios: readonly Scenario[] = [
  {
    name: 'hostile-bodies',
    what: 'Bombs, millions of elements, deep nesting, endless uploads and garbage beside good clients.',
    servers: withServer({ max_body_bytes: 16 * 2 ** 20 }),
    clients: [good, { count: 8, kinds: hostileKinds }],
    slowest_good_ms: 10_000,
  },
  {
    name: 'client-cuts',
    what: 'Connections that end at any byte of a request or a reply, beside good clients.',
    clients: [good, { count: 16, kinds: cutKinds }],
  },
  {
    name: 'slow-readers',
    what: 'Clients that ask for endless streams and never read, until they are cut.',
    servers: withServer({ slow_client_ms: 4000 }),
    clients: [good, { count: 60, kinds: [stalledReader], pause_ms: 500 }],
    peak_rss_mb: 900,
  },
  {
    name: 'restart-under-load',
    what: 'Both of two instances are restarted: one hands its port over to its successor, the other leaves its load balancer first.',
    servers: {
      ...withServer({ reuse_port: true, unready_ms: 3000 }),
      gateways: 2,
      redis: 'one',
      postgres: true,
    },
    clients: [{ count: 16, kinds: everydayKinds }],
    steps: [
      { after: 0.3, what: 'hand-over of the first', act: ({ gateways: [first] }) => first!.handOver() },
      { after: 0.2, what: 'restart of the second', act: ({ gateways: [, second] }) => second!.restart() },
    ],
  },
];
