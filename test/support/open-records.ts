import { placeOfPool, postgresPlace } from '../../plugins/stores/postgres/index.ts';
import { memoryPlace } from '../../plugins/stores/records/index.ts';
import { sqlitePlace } from '../../plugins/stores/sqlite/index.ts';
import { Stores } from '../../src/config/load-stores.ts';
import type { Database } from '../../src/records/database.ts';
import type { RecordsPlace } from '../../src/records/define-records-store.ts';
import type { PostgresPool } from '../../src/records/postgres-pool.ts';
import type { RecordsStore } from '../../src/records/records-store.ts';

/** Where a test has its records. */
export type RecordsTarget =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }
  /** Of a worker, whose primary process has opened the database. */
  | { readonly kind: 'worker'; readonly database: Database }
  | { readonly kind: 'pool'; readonly pool: PostgresPool };

/** The place, or that which `stores.records` names; relative paths begin at `directory`. */
export function placeOf(target: RecordsTarget | string, directory = '.'): RecordsPlace {
  if (typeof target === 'string') return new Stores().recordsAt(target, directory)!;
  if (target.kind === 'memory') return memoryPlace;
  if (target.kind === 'worker')
    return { ...memoryPlace, open: async () => memoryPlace.over!(target.database) };
  if (target.kind === 'sqlite') return sqlitePlace(target.path);
  return target.kind === 'pool' ? placeOfPool(target.pool) : postgresPlace(target.url);
}

/** Opens the store there, or as `stores.records` names it; it is not migrated yet. */
export const openRecords = (
  target: RecordsTarget | string,
  onLost: (error: Error) => void = () => {},
): Promise<RecordsStore> => placeOf(target).open(onLost);
