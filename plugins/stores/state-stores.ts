import type { StateStoreDefinition } from '../../src/plugin.ts';
import { redisState } from './redis/index.ts';

/** The stores that `stores.state` can name beside memory. */
export const builtInStateStores: readonly StateStoreDefinition[] = [redisState];
