import { type Contestant, direct, nginx, portkey, proxy, spike, spikeInExpress } from './contestants.ts';
import { batch } from './conversation.ts';
import { rungNames } from './ladder/rungs.ts';
import {
  commitOf,
  continuous,
  final,
  mounted,
  mountedYoung,
  passing,
  redis,
  rung,
  sidecar,
  sluice,
  traced,
  without,
} from './sluice-contestants.ts';
import { tunings } from './tunings.ts';

/** Contestants that are compared with the first one named `baseline`. */
export interface Table {
  readonly title: string;
  readonly baseline: string;
  readonly contestants: readonly Contestant[];
  /** Each contestant has what the one before it has, and one part more. */
  readonly isLadder?: true;
}

/** Every table by its name for `--tables`. `against` adds another commit to the first. */
export const tablesOf = (against: string | undefined): Readonly<Record<string, Table>> => ({
  gateways: {
    title: 'Gateways',
    baseline: 'http-proxy-middleware',
    contestants: [
      direct,
      nginx,
      proxy(),
      portkey,
      ...(against ? [commitOf(against)] : []),
      sluice,
      sidecar('sluice-continuous', 'sluice sidecar, `continuous_usage_stats`', { streamed: continuous }),
      mounted,
    ],
  },
  ladder: {
    title: 'The ladder',
    baseline: 'sluice',
    contestants: rungNames.map(rung),
    isLadder: true,
  },
  passthrough: {
    title: 'Pass-through of `POST /v1/embeddings`',
    baseline: 'http-proxy-middleware-embeddings',
    contestants: [proxy('embeddings'), passing('embeddings', 1)],
  },
  batches: {
    title: `Pass-through of \`POST /v1/embeddings\`, ${batch} texts a call`,
    baseline: 'http-proxy-middleware-embeddings-batch',
    contestants: [
      proxy('embeddings-batch'),
      passing('embeddings-batch', batch),
      passing('embeddings-batch', batch, 'json-search'),
    ],
  },
  parts: {
    title: 'Parts of sluice',
    baseline: 'sluice',
    contestants: [
      sluice,
      spike,
      sidecar('frame', 'only the error envelope', { streamed: final }, () => ({
        config: { stages: ['error-envelope'], plans: {}, accounts: {}, server: { port: 0, open: true } },
      })),
      sidecar('no-limits', 'no limits', {}, () => ({ config: { plans: { bench: {} } } })),
      sidecar('redis', 'limits in Redis', {}, redis),
      sidecar('traced-10', 'tracing, 10 % sampled', {}, () => traced(0.1)),
      sidecar('traced', 'tracing, every exchange', {}, () => traced(1)),
    ],
  },
  mounted: {
    title: 'Mounted in Express',
    baseline: 'sluice',
    contestants: [sluice, mounted, mountedYoung, spike, spikeInExpress],
  },
  workers: {
    title: 'Workers of a sidecar, on one core',
    baseline: 'sluice',
    contestants: [
      sluice,
      sidecar('workers-2', '2 workers', {}, () => ({ config: { server: { port: 0, workers: 2 } } })),
    ],
  },
  tuning: {
    title: 'Pieces tuned by hand, each without it',
    baseline: 'sluice',
    contestants: [
      sluice,
      ...Object.entries(tunings)
        .filter(([name]) => name !== 'json-search')
        .map(([name, { title }]) =>
          sidecar(`without-${name}`, `without ${title}`, { streamed: final }, () => without(name)),
        ),
    ],
  },
});
