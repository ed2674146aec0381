import { defineRecordsStore, type PostgresPool, type RecordsPlace } from '../../../src/store-plugin.ts';
import { sqlRecords } from '../records/sql-records.ts';

const ignore = (): void => {};

/** Records in the Postgres database at `url`. */
export function postgresPlace(url: string): RecordsPlace {
  const { hostname, port, pathname } = new URL(url);
  const name = `postgres://${hostname}${port && `:${port}`}${pathname}`;
  return {
    name,
    needs: 'pg',
    isShared: true,
    async open(onLost = ignore) {
      const { openPostgres } = await import('./postgres.ts');
      return sqlRecords(await openPostgres(url, onLost), { isPostgres: true });
    },
    async examine() {
      const { examineServer } = await import('./examine-server.ts');
      return examineServer(name, url);
    },
  };
}

/** Records in the database of the application's own pool, which keeps its settings and stays open. */
export const placeOfPool = (pool: PostgresPool): RecordsPlace => ({
  name: 'the pool of the option records',
  isGiven: true,
  isShared: true,
  async open(onLost = ignore) {
    const { checkPool, openPostgresPool } = await import('./postgres.ts');
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
