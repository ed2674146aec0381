import { builtInStateStores } from '../../plugins/stores/state-stores.ts';
import type { ConfigIssue } from '../common/config-error.ts';
import {
  isStateStoreDefinition,
  type StatePlace,
  type StateStoreDefinition,
} from '../records/define-state-store.ts';
import { messageOf, type PluginList } from './import-plugin.ts';
import { loadStorePlugins, RecordsPlaces, type StoreDefinition } from './records-places.ts';
import { stateServerAt } from './state-server.ts';

/** Loads the stores of `lists` beside the built-in ones. Mistakes are added to `issues`. */
export const loadStores = async (lists: readonly PluginList[], issues: ConfigIssue[]): Promise<Stores> =>
  new Stores(await loadStorePlugins(lists, issues), issues);

/** The stores that a configuration can name: the built-in ones, and those of plugins. Mistakes are added to `issues`. */
export class Stores extends RecordsPlaces {
  readonly #state: readonly StateStoreDefinition[];

  constructor(own: readonly StoreDefinition[] = [], issues: ConfigIssue[] = []) {
    super(own, issues);
    this.#state = [...builtInStateStores, ...own.filter(isStateStoreDefinition)];
  }

  /** The server that `stores.state` names; undefined for memory, and for a mistake, which is reported. */
  stateAt(text: string): StatePlace | undefined {
    try {
      return stateServerAt(text, this.#state);
    } catch (thrown) {
      this.issues.push({ path: ['stores', 'state'], message: messageOf(thrown) });
      return undefined;
    }
  }
}
