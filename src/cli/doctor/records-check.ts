import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { openPostgres } from '../../../plugins/stores/postgres/postgres.ts';
import type { Database } from '../../../plugins/stores/records/database.ts';
import { migrations } from '../../../plugins/stores/records/migrations.ts';
import type { RecordsSettings } from '../../../plugins/stores/records/records-options.ts';
import { placeOf, type RecordsTarget } from '../../../plugins/stores/records/records-target.ts';
import { type Finding, fault, faultOf, ok, warning } from './finding.ts';

const thing = 'records store';
const schema = { first: migrations[0]!.version, newest: migrations.at(-1)!.version };
const mebibyte = 1024 * 1024;
const little_space = 1024 * mebibyte;
const no_space = 100 * mebibyte;
const others = 0o077;

/** Looks at the records store without changing it: no migration, no table, no row. */
export async function checkRecords({ target, queue_path }: RecordsSettings): Promise<Finding[]> {
  if (target.kind === 'memory')
    return [
      ok(thing, 'memory: issued keys and the ledger end with the process; they last with stores.records'),
    ];
  const findings = target.kind === 'sqlite' ? checkSqlite(target.path) : await checkPostgres(target);
  const queueFolder = dirname(queue_path);
  const isSame = target.kind === 'sqlite' && dirname(target.path) === queueFolder;
  return isSame ? findings : [...findings, ...folderFaults('ledger queue', queueFolder)];
}

function checkSqlite(path: string): Finding[] {
  const folder = folderFaults(thing, dirname(path));
  if (folder.some(({ status }) => status === 'fault')) return folder;
  if (!existsSync(path)) return [ok(thing, `${path} is made at the first start`), ...folder];
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return [fault(thing, `${path} cannot be written (${code})`, 'give the file to the user who runs sluice')];
  }
  try {
    return [versionFinding(path, sqliteVersion(path)), ...folder, ...sharedFile(path)];
  } catch (thrown) {
    return [faultOf(thing, thrown, `check that ${path} is a SQLite database of sluice`)];
  }
}

/** Version of the schema; 0 without one. The file is opened so that not even SQLite's own files beside it are made. */
function sqliteVersion(path: string): number {
  const url = pathToFileURL(path);
  // With a log beside it, the newest rows are there, and its files exist.
  if (!existsSync(`${path}-wal`)) url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    const table = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'";
    if (!database.prepare(table).get()) return 0;
    return Number(
      database.prepare('SELECT MAX(version) AS version FROM schema_migrations').get()?.version ?? 0,
    );
  } finally {
    database.close();
  }
}

function sharedFile(path: string): Finding[] {
  const mode = process.platform === 'win32' ? 0 : statSync(path).mode;
  if (!(mode & others)) return [];
  const found = `other users of this machine may use ${path} (mode ${(mode & 0o777).toString(8)})`;
  return [warning(thing, found, `chmod 600 ${path}`)];
}

function folderFaults(of: string, folder: string): Finding[] {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const found = `${Math.floor(free / mebibyte)} MiB are free in ${folder}`;
    if (free < no_space) return [fault(of, found, 'make room: without it nothing is recorded')];
    return free < little_space ? [warning(of, found, 'make room before the disk is full')] : [];
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    const remedy = 'create the folder, and give it to the user who runs sluice';
    return [fault(of, `the folder ${folder} cannot be written (${code})`, remedy)];
  }
}

/** What a store of this version is to a program that upgrades from `first` to `newest`. */
export function versionFinding(place: string, version: number, { first, newest } = schema): Finding {
  const found = `${place} has schema version ${version}`;
  if (version > newest)
    return fault(thing, `${found}, this sluice knows ${newest}`, 'start a newer sluice, or another store');
  if (version === newest) return ok(thing, found);
  if (version === 0) return ok(thing, `${place} is empty; the first start makes its tables`);
  if (version < first) return fault(thing, `${found}, from before the first release`, 'set a new store');
  const steps = newest - version;
  return warning(
    thing,
    `${found}; the next start migrates it to ${newest} (${steps} step${steps === 1 ? '' : 's'})`,
    'make a backup before the next start',
  );
}

async function checkPostgres(target: RecordsTarget): Promise<Finding[]> {
  if (target.kind !== 'postgres') return [];
  const place = placeOf(target);
  let database: Database | undefined;
  try {
    database = await openPostgres(target.url, () => {});
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
  if (!has_tables) return [versionFinding(described, 0)];
  const [row] = await database.run<{ version: number | null }>(
    'SELECT MAX(version) AS version FROM sluice.schema_migrations',
  );
  return [versionFinding(described, Number(row?.version ?? 0))];
}
