import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, type Database, type Row, rowMarks, type Value } from '../database.ts';
import { StoreUnavailable } from '../record-errors.ts';
import { isBusy } from './sqlite-connection.ts';
import { inlineSqlite, type SqliteEngine, SqliteThread } from './sqlite-thread.ts';

/** How long a statement is retried while another process holds the lock, and how often. */
const lock_ms = 5000;
const retry_ms = 25;
/** The same for a migration, since the other process may be migrating. */
const migration_lock_ms = 600_000;

type Work<T> = (connection: Connection) => Promise<T>;

export interface SqliteDatabase extends Database {
  /** Gives the space of deleted rows back to the disk. Rejects while another process uses the file. */
  vacuum(): Promise<void>;
}

/** Opens `path`, which is made if its folder is there. Rejects with StoreUnavailable. */
export async function openSqlite(path: string): Promise<SqliteDatabase> {
  const thread = new SqliteThread(path);
  await retried(() => thread.open(), lock_ms);
  return databaseOn(thread);
}

/** A database that ends with the process. */
export const sqliteInMemory = (): Database => databaseOn(inlineSqlite());

/** One transaction at a time; a read beside one sees what was committed before it. */
function databaseOn(engine: SqliteEngine): SqliteDatabase {
  /** The end of the last transaction that has been asked for. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  return {
    run<R extends object>(sql: string, values: readonly Value[] = []) {
      const read = () => retried(() => engine.run('reader', sql, values), lock_ms);
      return (engine.isShared ? inTurn(read) : read()) as Promise<R[]>;
    },
    insert: (table, rows, end) =>
      inTurn(() => transactionOn(engine, connection => connection.insert(table, rows, end), lock_ms)),
    transaction: work => inTurn(() => transactionOn(engine, work, lock_ms)),
    longTransaction: work => inTurn(() => transactionOn(engine, work, migration_lock_ms)),
    vacuum: () =>
      inTurn(async () => {
        await engine.run('writer', 'VACUUM', []);
        // Until then the file is as large as it was.
        await engine.run('writer', 'PRAGMA wal_checkpoint(TRUNCATE)', []);
      }),
    close: async () => {
      await last;
      await engine.close();
    },
  };
}

/** The statement that inserts one such row. */
const insertOf = (table: string, row: Row, end = ''): string =>
  `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES ${rowMarks(1, Object.keys(row).length)} ${end}`;

function valuesOf(rows: readonly Row[]): Value[] {
  const values: Value[] = [];
  for (const row of rows) for (const name in row) values.push(row[name]!);
  return values;
}

async function transactionOn<T>(engine: SqliteEngine, work: Work<T>, patience_ms: number): Promise<T> {
  // Takes the lock at the beginning, so that no later statement can find another writer.
  await retried(() => engine.run('writer', 'BEGIN IMMEDIATE', []), patience_ms);
  const { generation } = engine;
  const run = async <R>(sql: string, values: readonly Value[] = [], times = 1): Promise<R[]> => {
    // Half of a transaction must not be done on its own.
    if (engine.generation !== generation) throw new StoreUnavailable('a transaction was cut off');
    return (await engine.run('writer', sql, values, times)) as R[];
  };
  try {
    const done = await work({
      run: (sql, values) => run(sql, values),
      // A statement for each number of rows would take a megabyte for a few hundred of them, and longer to prepare than to run.
      insert: (table, rows, end) => run(insertOf(table, rows[0]!, end), valuesOf(rows), rows.length),
    });
    await run('COMMIT');
    return done;
  } catch (thrown) {
    // Fails where SQLite has rolled back by itself.
    await run('ROLLBACK').catch(() => {});
    throw thrown;
  }
}

/** Tries again for `patience_ms` while another process holds the lock; in the pauses the thread can serve reads. */
async function retried<T>(work: () => Promise<T>, patience_ms: number): Promise<T> {
  const until_ms = performance.now() + patience_ms;
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (!isBusy(thrown) || performance.now() > until_ms) throw thrown;
      await sleep(retry_ms);
    }
  }
}
