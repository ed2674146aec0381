import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { openSqlite } from '../../records/sqlite/sqlite.ts';
import type { SqliteFault } from '../../records/sqlite/sqlite-connection.ts';
import type { Log } from '../../telemetry/log.ts';

const remedy = 'or set stores.ledger_queue to another path';

/** SQLite's result codes for a file that is damaged, or not a SQLite file: CORRUPT, NOTADB. */
const damaged = new Set([11, 26]);
/** SQLite's result codes for what may pass: BUSY, IOERR, FULL. */
const passing = new Set([5, 10, 13]);

/**
 * Whether the ledger could queue rows in `path`. Throws an Error that says why not and what to do. What may pass by itself, such as a full
 * disk or a lock, is only logged: it must not keep the gateway from starting.
 */
export async function checkQueueFile(path: string, log: Log): Promise<void> {
  const unusable = (why: string, action: string, cause?: unknown) =>
    new Error(`stores.ledger_queue: ${path} cannot be used: ${why}; ${action}, ${remedy}`, { cause });
  const directory = dirname(path);
  const parent = statSync(directory, { throwIfNoEntry: false });
  if (!parent) throw unusable(`the directory ${directory} does not exist`, 'create it');
  if (!parent.isDirectory()) throw unusable(`${directory} is not a directory`, 'move it away');
  const permit = 'give the user of this process that permission';
  if (!isAllowed(directory, constants.W_OK | constants.X_OK))
    throw unusable(`the directory ${directory} is not writable`, permit);
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file) return;
  if (!file.isFile())
    throw unusable(file.isDirectory() ? 'it is a directory' : 'it is not a file', 'move it away');
  if (!isAllowed(path, constants.R_OK | constants.W_OK))
    throw unusable('the file is not readable and writable', permit);
  try {
    const fault = await faultIn(path);
    if (fault) throw unusable(fault, 'move it away');
  } catch (thrown) {
    const { code = 0, message } = ((thrown as Error).cause ?? {}) as Partial<SqliteFault>;
    if (damaged.has(code))
      throw unusable(`it is damaged or not a SQLite file (${message})`, 'move it away', thrown);
    if (!passing.has(code)) throw thrown;
    log.warn({ err: thrown, queue: path }, 'the ledger queue file cannot be checked now');
  }
}

/** What is wrong with the content of a SQLite file. */
async function faultIn(path: string): Promise<string | undefined> {
  const database = await openSqlite(path);
  try {
    const tables = await database.run<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table'",
    );
    if (tables.some(({ name }) => name !== 'waiting')) return 'it is a SQLite file of something else';
    const [check] = await database.run<{ quick_check: string }>('PRAGMA quick_check(1)');
    return check!.quick_check === 'ok'
      ? undefined
      : `it is damaged (${check!.quick_check.replace(/\s+/g, ' ')})`;
  } finally {
    await database.close();
  }
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
