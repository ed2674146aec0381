import { defineRecordsStore, type PostgresPool, type RecordsPlace } from '../../../src/plugin.ts';
import { sqlRecords } from '../records/sql-records.ts';
import { examineServer } from './examine-server.ts';
import { checkPool, openPostgres, openPostgresPool } from './postgres.ts';

const ignore = (): void => {};

/** Records in the Postgres database at `url`. */
export function postgresPlace(url: string): RecordsPlace {
  const { hostname, port, pathname } = new URL(url);
  const name = `postgres://${hostname}${port && `:${port}`}${pathname}`;
  return {
    name,
    needs: 'pg',
    isShared: true,
    open: async (onLost = ignore) => sqlRecords(await openPostgres(url, onLost), { isPostgres: true }),
    examine: () => examineServer(name, url),
  };
}

/** Records in the database of the application's own pool, which keeps its settings and stays open. */
export const placeOfPool = (pool: PostgresPool): RecordsPlace => ({
  name: 'the pool of the option records',
  isGiven: true,
  isShared: true,
  async open(onLost = ignore) {
    const database = openPostgresPool(pool, onLost);
    const store = sqlRecords(database, { isPostgres: true });
    return {
      ...store,
      async migrate(...given) {
        await checkPool(database);
        await store.migrate(...given);
      },
    };
  },
});

/** Records in Postgres, for all instances. */
export const postgresRecords = defineRecordsStore({
  name: 'postgres',
  form: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  placeOf: text =>
    /^postgres(ql)?:\/\/./.test(text) && URL.canParse(text) ? postgresPlace(text) : undefined,
  placeIn: given => ('connect' in given ? placeOfPool(given as PostgresPool) : undefined),
});
