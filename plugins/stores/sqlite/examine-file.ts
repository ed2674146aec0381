import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type Finding, finding } from '../../../src/store-plugin.ts';
import { schemaFinding } from '../records/schema-finding.ts';

const { fault, ok, warning } = finding;

const thing = 'records store';
const others = 0o077;

/** Looks at the file without changing it: no migration, no table, no row. */
export function examineFile(path: string): Finding[] {
  if (!existsSync(path)) return [ok(thing, `${path} is made at the first start`)];
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return [fault(thing, `${path} cannot be written (${code})`, 'give the file to the user who runs sluice')];
  }
  try {
    return [schemaFinding(path, sqliteVersion(path)), ...sharedFile(path)];
  } catch (thrown) {
    const { message } = thrown as Error;
    return [fault(thing, message.split('\n')[0]!, `check that ${path} is a SQLite database of sluice`)];
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
