import { builtInRecordsStores } from '../../plugins/stores/records-stores.ts';
import type { ConfigIssue } from '../common/config-error.ts';
import {
  isRecordsStoreDefinition,
  type RecordsPlace,
  type RecordsStoreDefinition,
} from '../records/define-records-store.ts';
import { isStateStoreDefinition, type StateStoreDefinition } from '../records/define-state-store.ts';
import { loadLists, type PluginKind, type PluginList, pluginsIn } from './import-plugin.ts';

/** A store of one of the two kinds. */
export type StoreDefinition = RecordsStoreDefinition | StateStoreDefinition;

const storeKind: PluginKind<StoreDefinition> = {
  what: 'a store',
  maker: 'defineRecordsStore or defineStateStore',
  is: (value): value is StoreDefinition => isRecordsStoreDefinition(value) || isStateStoreDefinition(value),
};

/** Loads the stores of `lists`. Mistakes are added to `issues`. */
export const loadStorePlugins = async (
  lists: readonly PluginList[],
  issues: ConfigIssue[],
): Promise<readonly StoreDefinition[]> => pluginsIn(await loadLists(storeKind, lists, issues));

/** The places of records that a configuration can name: those of the built-in stores, and of plugins. Mistakes are added to `issues`. */
export class RecordsPlaces {
  protected readonly issues: ConfigIssue[];
  readonly #records: readonly RecordsStoreDefinition[];

  constructor(own: readonly StoreDefinition[] = [], issues: ConfigIssue[] = []) {
    this.issues = issues;
    this.#records = [...builtInRecordsStores, ...own.filter(isRecordsStoreDefinition)];
  }

  /** The place that `stores.records` names; undefined for a mistake, which is reported. */
  recordsAt(text: string, directory: string): RecordsPlace | undefined {
    for (const store of this.#records) {
      const place = store.placeOf(text, directory);
      if (place) return place;
    }
    const forms = this.#records.map(({ form }) => form);
    const message = `must be ${forms.slice(0, -1).join(', ')}, or ${forms.at(-1)}`;
    this.issues.push({ path: ['stores', 'records'], message });
    return undefined;
  }

  /** The place that the option `records` stands for; undefined for a mistake, which is reported. */
  recordsIn(given: object): RecordsPlace | undefined {
    for (const store of this.#records) {
      const place = store.placeIn?.(given);
      if (place) return place;
    }
    this.issues.push({ path: ['options', 'records'], message: 'is of no store that is known here' });
    return undefined;
  }
}
