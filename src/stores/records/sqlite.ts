import { ConstantBackoff, handleWhen, type RetryPolicy, retry } from 'cockatiel';
import { type Connection, type Database, StoreUnavailable, type Value } from './database.ts';
import { isBusy } from './sqlite-connection.ts';
import { inlineSqlite, type SqliteEngine, SqliteThread } from './sqlite-thread.ts';

/** Tries again for about five seconds while another process holds the lock; in the pauses the thread can serve reads. */
const lockRetry = retry(handleWhen(isBusy), { maxAttempts: 66, backoff: new ConstantBackoff(25) });
/** The same for a migration, for ten minutes: the other process may be migrating. */
const longLockRetry = retry(handleWhen(isBusy), { maxAttempts: 8000, backoff: new ConstantBackoff(25) });

type Work<T> = (connection: Connection) => Promise<T>;

export interface SqliteDatabase extends Database {
  /** Gives the space of deleted rows back to the disk. Rejects while another process uses the file. */
  vacuum(): Promise<void>;
}

/** Opens `path`, which is made if its folder is there. Rejects with StoreUnavailable. */
export async function openSqlite(path: string): Promise<SqliteDatabase> {
  const thread = new SqliteThread(path);
  await lockRetry.execute(() => thread.open());
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
      const read = () => lockRetry.execute(() => engine.run('reader', sql, values));
      return (engine.isShared ? inTurn(read) : read()) as Promise<R[]>;
    },
    transaction: work => inTurn(() => transactionOn(engine, work, lockRetry)),
    longTransaction: work => inTurn(() => transactionOn(engine, work, longLockRetry)),
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

async function transactionOn<T>(engine: SqliteEngine, work: Work<T>, lock: RetryPolicy): Promise<T> {
  // Takes the lock at the beginning, so that no later statement can find another writer.
  await lock.execute(() => engine.run('writer', 'BEGIN IMMEDIATE', []));
  const { generation } = engine;
  const run = async <R>(sql: string, values: readonly Value[] = []): Promise<R[]> => {
    // Half of a transaction must not be done on its own.
    if (engine.generation !== generation) throw new StoreUnavailable('a transaction was cut off');
    return (await engine.run('writer', sql, values)) as R[];
  };
  try {
    const done = await work({ run });
    await run('COMMIT');
    return done;
  } catch (thrown) {
    // Fails where SQLite has rolled back by itself.
    await run('ROLLBACK').catch(() => {});
    throw thrown;
  }
}
