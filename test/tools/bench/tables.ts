import { type Contestant, direct, nginx, portkey, proxy } from './contestants.ts';
import { batch } from './conversation.ts';
import {
  continuous,
  mounted,
  mountedYoung,
  passing,
  redis,
  shortenedSidecar,
  sidecar,
  sluice,
  traced,
} from './sluice-contestants.ts';

/** Contestants that are compared with the first one named `baseline`. */
interface Table {
  readonly title: string;
  readonly baseline: string;
  readonly contestants: readonly Contestant[];
}

/** Every table by its name. */
export const tables: Readonly<Record<string, Table>> = {
  gateways: {
    title: 'Gateways',
    baseline: 'http-proxy-middleware',
    contestants: [direct, nginx, proxy(), portkey, sluice, continuous, mounted],
  },
  parts: {
    title: 'Parts of sluice',
    baseline: 'sluice',
    contestants: [
      sluice,
      shortenedSidecar('frame'),
      shortenedSidecar('no-limits'),
      redis,
      traced('traced-10', 'tracing, 10 % sampled', 0.1),
      traced('traced', 'tracing, every exchange', 1),
    ],
  },
  mounted: { title: 'Mounted in Express', baseline: 'sluice', contestants: [sluice, mounted, mountedYoung] },
  workers: {
    title: 'Workers of a sidecar, on one core',
    baseline: 'sluice',
    contestants: [
      sluice,
      sidecar('workers-2', '2 workers', () => ({ config: { server: { port: 0, workers: 2 } } })),
    ],
  },
  passthrough: {
    title: 'Pass-through of `POST /v1/embeddings`',
    baseline: 'http-proxy-middleware-embeddings',
    contestants: [proxy('embeddings'), passing('embeddings', 1)],
  },
  batches: {
    title: `Pass-through of \`POST /v1/embeddings\`, ${batch} texts a call`,
    baseline: 'http-proxy-middleware-embeddings-batch',
    contestants: [proxy('embeddings-batch'), passing('embeddings-batch', batch)],
  },
};
