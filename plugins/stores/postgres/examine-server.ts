import { type Database, type Finding, finding } from '../../../src/store-plugin.ts';
import { schemaFinding } from '../records/schema-finding.ts';
import { openPostgres } from './postgres.ts';

const { fault } = finding;

const thing = 'records store';

/** Looks at the database without changing it: no migration, no table, no row. */
export async function examineServer(place: string, url: string): Promise<Finding[]> {
  let database: Database | undefined;
  try {
    database = await openPostgres(url, () => {});
    return await examined(place, database);
  } catch (thrown) {
    const { message } = thrown as Error;
    const remedy = /Cannot find package|ERR_MODULE_NOT_FOUND/.test(message)
      ? 'npm install pg'
      : 'check stores.records, and that the server is running and lets this user in from here';
    return [fault(thing, `${place}: ${message.split('\n')[0]}`, remedy)];
  } finally {
    await database?.close();
  }
}

async function examined(place: string, database: Database): Promise<Finding[]> {
  // The connection is not part of a statement's latency.
  await database.run('SELECT 1');
  const began_ms = performance.now();
  const [about] = await database.run<Record<string, string | number | boolean | null>>(
    `SELECT current_setting('server_version') AS server, pg_is_in_recovery() AS is_replica,
      has_database_privilege(current_database(), 'CREATE') AS may_create,
      to_regnamespace('sluice') IS NOT NULL AS has_schema, to_regclass('sluice.schema_migrations') IS NOT NULL AS has_tables`,
  );
  const latency_ms = performance.now() - began_ms;
  const { server, is_replica, may_create, has_schema, has_tables } = about!;
  const described = `${place}, version ${server}, ${latency_ms.toFixed(1)} ms,`;
  if (is_replica) return [fault(thing, `${place} is a standby, which takes no writes`, 'name the primary')];
  if (!has_schema && !may_create)
    return [
      fault(
        thing,
        `${place} has no schema sluice, and this role may not create it`,
        'CREATE SCHEMA sluice AUTHORIZATION the role',
      ),
    ];
  if (!has_tables) return [schemaFinding(described, 0)];
  const [row] = await database.run<{ version: number | null }>(
    'SELECT MAX(version) AS version FROM sluice.schema_migrations',
  );
  return [schemaFinding(described, Number(row?.version ?? 0))];
}
