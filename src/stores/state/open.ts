import type { Clock } from '../../clock.ts';
import { MemoryStateStore } from './memory.ts';
import type { StateStore } from './state-store.ts';

/** The store that `stores.state` names. */
export function openStateStore(_place: string, clock: Clock): StateStore {
  return new MemoryStateStore(clock);
}
