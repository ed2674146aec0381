import { builtInStateStores } from '../../plugins/stores/state-stores.ts';
import type { StatePlace, StateStoreDefinition } from '../records/define-state-store.ts';

/** The server that `stores.state` names; undefined for memory. Throws an Error that says what is accepted. */
export function stateServerAt(
  text: string,
  stores: readonly StateStoreDefinition[] = builtInStateStores,
): StatePlace | undefined {
  if (text === 'memory') return undefined;
  for (const store of stores) {
    const server = store.serverAt(text);
    if (server) return server;
  }
  throw new Error(`must be memory, or ${stores.map(({ form }) => form).join(', or ')}`);
}
