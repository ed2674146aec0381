import { Worker } from 'node:worker_threads';
import { type Row, StoreUnavailable, type Value } from './database.ts';
import { errorOf, faultOf, SqliteConnection } from './sqlite-connection.ts';
import type { SqliteAnswer, SqliteCall } from './sqlite-worker.ts';

/** Where statements are run: `writer` takes all, `reader` sees only what has been committed. Rejects as a `Database` does. */
export interface SqliteEngine {
  /** Reader and writer are one connection, so that a reader would see what is not committed. */
  readonly isShared: boolean;
  /** Another number once what had been begun is lost, because the thread has ended and was started again. */
  readonly generation: number;
  run(on: SqliteCall['on'], sql: string, values: readonly Value[]): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** A database in memory, within this thread: nothing there ever waits for a disk. */
export class InlineSqlite implements SqliteEngine {
  readonly isShared = true;
  readonly generation = 1;
  readonly #connection = new SqliteConnection(':memory:');

  async run(_on: SqliteCall['on'], sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    try {
      return this.#connection.run(sql, values);
    } catch (thrown) {
      throw errorOf(faultOf(thrown));
    }
  }

  async close(): Promise<void> {
    this.#connection.close();
  }
}

/** A SQLite file, read and written in a thread of its own. A thread that has died is started again by the next statement. */
export class SqliteThread implements SqliteEngine {
  readonly isShared = false;
  generation = 0;
  readonly #path: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly Row[]>>();
  #worker: Worker | undefined;
  #calls = 0;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Starts the thread; rejects when the file cannot be opened or made. */
  open(): Promise<readonly Row[]> {
    this.#start();
    return this.#answer(0);
  }

  run(on: SqliteCall['on'], sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable(`${this.#path} has been closed`));
    this.#worker ??= this.#start();
    const id = ++this.#calls;
    this.#worker.ref();
    this.#worker.postMessage({ id, on, sql, values } satisfies SqliteCall);
    return this.#answer(id);
  }

  #answer(id: number): Promise<readonly Row[]> {
    const waiting = Promise.withResolvers<readonly Row[]>();
    this.#waiting.set(id, waiting);
    return waiting.promise;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    if (!worker) return;
    await new Promise(resolve => {
      worker.once('exit', resolve);
      worker.ref();
      worker.postMessage('close');
    });
  }

  #start(): Worker {
    this.generation++;
    // As this file runs itself: from the sources, or built.
    const file = `./sqlite-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`;
    const worker = new Worker(new URL(file, import.meta.url), { workerData: { path: this.#path } });
    worker.on('message', (answer: SqliteAnswer) => this.#settle(answer));
    worker.on('error', error => this.#ended(worker, error.message));
    worker.on('exit', () => this.#ended(worker, 'its thread has ended'));
    this.#worker = worker;
    return worker;
  }

  #settle(answer: SqliteAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    // A thread with nothing to do does not keep the process alive; one that is ending does, until it has ended.
    if (this.#waiting.size === 0 && !this.#isClosed) this.#worker?.unref();
    if ('rows' in answer) waiting?.resolve(answer.rows);
    else waiting?.reject(errorOf(answer.fault));
  }

  #ended(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const error = new StoreUnavailable(`${this.#path}: ${why}`);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
