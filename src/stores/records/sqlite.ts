import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, type Database, type Row, StoreUnavailable, type Value } from './database.ts';
import { isBusy } from './sqlite-connection.ts';
import { InlineSqlite, type SqliteEngine, SqliteThread } from './sqlite-thread.ts';

/** How long a database that another process is writing to is asked again, and how often. */
const busy_patience_ms = 5000;
const busy_pause_ms = 25;
/** The same for a migration, which another process may be at. */
const migration_patience_ms = 600_000;

/** A SQLite database. One transaction at a time; what is read beside one is what was committed before it. */
export class SqliteDatabase implements Database {
  readonly #engine: SqliteEngine;
  /** The end of the last transaction that has been asked for. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(engine: SqliteEngine) {
    this.#engine = engine;
  }

  /** Opens `path`, which is made if its folder is there. Rejects with StoreUnavailable. */
  static async open(path: string): Promise<SqliteDatabase> {
    const engine = await patiently(async () => {
      const thread = new SqliteThread(path);
      await thread.open();
      return thread;
    });
    return new SqliteDatabase(engine);
  }

  /** A database that ends with the process. */
  static inMemory(): SqliteDatabase {
    return new SqliteDatabase(new InlineSqlite());
  }

  run<R extends object = Row>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    const read = () => this.#run<R>('reader', sql, values);
    return this.#engine.isShared ? this.#inTurn(read) : read();
  }

  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#transaction(work, busy_patience_ms);
  }

  longTransaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#transaction(work, migration_patience_ms);
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#engine.close();
  }

  #transaction<T>(work: (connection: Connection) => Promise<T>, patience_ms: number): Promise<T> {
    return this.#inTurn(async () => {
      // The lock is taken at the beginning, so that no later statement can find another writer.
      await patiently(() => this.#engine.run('writer', 'BEGIN IMMEDIATE', []), patience_ms);
      const { generation } = this.#engine;
      const run = async <R>(sql: string, values: readonly Value[] = []): Promise<R[]> => {
        // Half of a transaction must not be done on its own.
        if (this.#engine.generation !== generation) throw new StoreUnavailable('a transaction was cut off');
        return this.#run<R>('writer', sql, values);
      };
      try {
        const done = await work({ run });
        await run('COMMIT');
        return done;
      } catch (thrown) {
        // Where SQLite has rolled back by itself, there is nothing left to do.
        await run('ROLLBACK').catch(() => {});
        throw thrown;
      }
    });
  }

  /** Gives the space of deleted rows back to the disk. Rejects while another process uses the file. */
  vacuum(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#run('writer', 'VACUUM', []);
      // Until then the file is as large as it was.
      await this.#run('writer', 'PRAGMA wal_checkpoint(TRUNCATE)', []);
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #run<R>(on: 'reader' | 'writer', sql: string, values: readonly Value[]): Promise<R[]> {
    const ask = () => this.#engine.run(on, sql, values);
    return (await (on === 'reader' ? patiently(ask) : ask())) as R[];
  }
}

/** Waits for other processes without blocking the thread, so that what can be read meanwhile is read. */
async function patiently<T>(ask: () => Promise<T>, patience_ms = busy_patience_ms): Promise<T> {
  const until_ms = performance.now() + patience_ms;
  for (;;) {
    try {
      return await ask();
    } catch (thrown) {
      if (!isBusy(thrown) || performance.now() > until_ms) throw thrown;
      await sleep(busy_pause_ms);
    }
  }
}
