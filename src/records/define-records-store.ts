import { z } from 'zod';
import { checkedBy } from '../common/config-error.ts';
import type { Finding } from '../common/finding.ts';
import { isObject } from '../common/json-object.ts';
import { aFunction } from '../common/methods.ts';
import { within } from '../common/within.ts';
import type { Database } from './database.ts';
import { StoreUnavailable } from './record-errors.ts';
import type { RecordsStore } from './records-store.ts';

/** A place for records, which is not open yet. */
export interface RecordsPlace {
  /** For messages, without a password: `sqlite:/var/lib/sluice.db`. */
  readonly name: string;
  /** A package that must be installed beside sluice. */
  readonly needs?: string;
  /** True for a place that was given in code, and is not named by `stores.records`. */
  readonly isGiven?: boolean;
  /** True where the records end with the process. */
  readonly isMemory?: boolean;
  /** True if every instance and process may open it. Otherwise one process of a server opens it, for its workers as well. */
  readonly isShared?: boolean;
  /** The file, if the place is one. The queue of the ledger is put beside it. Only its owner should have access. */
  readonly file?: string;
  /**
   * Opens the store without asking anything of it. `onLost` is called when an idle connection breaks. Rejects with StoreUnavailable where it
   * cannot be opened.
   */
  open(onLost?: (error: Error) => void): Promise<RecordsStore>;
  /** The same store in a worker, over the database of the process that has opened it; needed unless it is shared. */
  over?(database: Database): RecordsStore;
  /** Looks at the store for `sluice doctor` without changing it. */
  examine?(): Promise<readonly Finding[]>;
}

/** A kind of records store, as `defineRecordsStore` returns it. */
export interface RecordsStoreDefinition {
  /** In kebab-case. */
  readonly name: string;
  /** How `stores.records` names a place of this kind, for messages: `sqlite:PATH such as sqlite:./sluice.db`. */
  readonly form: string;
  /** The place that `stores.records` names; undefined for what is not of this kind. Relative paths begin at `directory`. */
  placeOf(text: string, directory: string): RecordsPlace | undefined;
  /** The place that an object stands for which the application has given as the option `records`, such as its pool of connections. */
  placeIn?(given: object): RecordsPlace | undefined;
}

const schema = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case, such as my-store'),
  form: z.string().min(1, 'must say what stores.records is to be, such as my-store:ADDRESS'),
  placeOf: aFunction('it gets the text of stores.records, and returns a place or undefined'),
  placeIn: aFunction('it gets the option records, and returns a place or undefined').optional(),
});

/**
 * Declares a records store: accounts, keys, the ledger and what it adds up to. `stores.plugins` of a configuration, or the option `stores` of
 * `createGateway`, makes it known; `stores.records` then names a place in it. Throws a ConfigError for an incomplete definition.
 */
export function defineRecordsStore(definition: RecordsStoreDefinition): RecordsStoreDefinition {
  checkedBy('defineRecordsStore', schema, definition);
  return definition;
}

/** Whether a module's export was returned by `defineRecordsStore`, of this copy of the package or another. */
export const isRecordsStoreDefinition = (value: unknown): value is RecordsStoreDefinition =>
  isObject(value) && typeof value.placeOf === 'function' && typeof value.form === 'string';

/** Time for a store to open: that of a plugin may never settle. */
const patience_ms = 30_000;

/** Opens a store. Rejects with StoreUnavailable if that takes longer than `limit_ms`; one that opens later is closed. */
export async function openPlace(
  place: RecordsPlace,
  onLost?: (error: Error) => void,
  limit_ms = patience_ms,
): Promise<RecordsStore> {
  const opening = place.open(onLost);
  return within(opening, limit_ms, () => {
    opening.then(store => store.close()).catch(() => {});
    return new StoreUnavailable(`it did not open within ${limit_ms} ms`);
  });
}
