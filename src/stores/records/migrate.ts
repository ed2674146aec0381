import type { Connection, Database } from './database.ts';
import { type Migration, migrations } from './migrations.ts';

/** Any number, the same in every version: `sluice` in hexadecimal. */
const lock = 0x736c75696365;

/**
 * Brings the schema up to date, also where several instances start at once: the first does it, the others wait and find it done. Throws
 * when the database is of a newer version than this one knows.
 */
export async function migrate(
  database: Database,
  isPostgres: boolean,
  epoch_ms: number,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  await database.transaction(async connection => {
    // SQLite's transactions have the whole database to themselves.
    if (isPostgres) await connection.run(`SELECT pg_advisory_xact_lock(${lock})`);
    await connection.run(
      'CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ms BIGINT NOT NULL)',
    );
    const current = await versionOf(connection);
    const known = steps.at(-1)?.version ?? 0;
    if (current > known) {
      throw new Error(
        `the records store has schema version ${current}, this sluice knows ${known}: start a newer one`,
      );
    }
    for (const { version, name, statements } of steps) {
      if (version <= current) continue;
      for (const statement of statements)
        await (typeof statement === 'string' ? connection.run(statement) : statement(connection, isPostgres));
      await connection.run('INSERT INTO schema_migrations (version, name, applied_ms) VALUES (?, ?, ?)', [
        version,
        name,
        epoch_ms,
      ]);
    }
  });
}

async function versionOf(connection: Connection): Promise<number> {
  const [row] = await connection.run<{ version: number | null }>(
    'SELECT MAX(version) AS version FROM schema_migrations',
  );
  return row?.version ?? 0;
}
