import { availableParallelism } from 'node:os';
import type { Settings } from '../config/load.ts';

/** Number of processes that serve the public address of a sidecar. */
export const workersOf = ({ server: { workers } }: Pick<Settings, 'server'>): number =>
  workers === 'auto' ? availableParallelism() : workers;
