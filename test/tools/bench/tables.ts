import { type Contestant, direct, nginx, portkey, proxy } from './contestants.ts';
import { continuous, mounted, redis, shortenedSidecar, sluice, traced } from './sluice-contestants.ts';

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
    contestants: [direct, nginx, proxy, portkey, sluice, continuous, mounted],
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
};
