import { Worker } from 'node:worker_threads';
import type { Row, Value } from '../database.ts';
import { StoreUnavailable } from '../record-errors.ts';
import { rowsOf, type SqliteAnswer, SqliteConnection } from './sqlite-connection.ts';
import type { SqliteCall } from './sqlite-worker.ts';

/** Where statements are run: `writer` takes all, `reader` sees only what has been committed. Rejects as a `Database` does. */
export interface SqliteEngine {
  /** Reader and writer are one connection, so that a reader would see what is not committed. */
  readonly isShared: boolean;
  /** Changes when the thread has ended: a transaction that had begun is lost then, and the next statement starts another thread. */
  readonly generation: number;
  /** Runs a statement, or the same for each of `times` equal parts of the values. */
  run(on: SqliteCall['on'], sql: string, values: readonly Value[], times?: number): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** A database in memory, within this thread: nothing there ever waits for a disk. */
export function inlineSqlite(): SqliteEngine {
  const connection = new SqliteConnection(':memory:');
  return {
    isShared: true,
    generation: 1,
    run: async (_on, sql, values, times) => rowsOf(connection.run(sql, values, times)),
    close: async () => connection.close(),
  };
}

/** A SQLite file, read and written in a thread of its own. A thread that has died is started again by the next statement. */
export class SqliteThread implements SqliteEngine {
  readonly isShared = false;
  generation = 0;
  readonly #path: string;
  /** Calls without an answer, in their order. */
  #waiting: PromiseWithResolvers<readonly Row[]>[] = [];
  #worker: Worker | undefined;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Starts the thread; rejects when the file can be neither opened nor made. */
  open(): Promise<readonly Row[]> {
    this.#start();
    return this.#answer();
  }

  run(on: SqliteCall['on'], sql: string, values: readonly Value[], times = 1): Promise<readonly Row[]> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable(`${this.#path} has been closed`));
    // A file that cannot be opened ends the thread, which rejects the statement as well.
    if (!this.#worker) this.open().catch(() => {});
    this.#worker!.ref();
    this.#worker!.postMessage({ on, sql, values, times } satisfies SqliteCall);
    return this.#answer();
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

  #answer(): Promise<readonly Row[]> {
    const waiting = Promise.withResolvers<readonly Row[]>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  #start(): void {
    // As this file runs itself: from the sources, or built.
    const file = `./sqlite-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`;
    const worker = new Worker(new URL(file, import.meta.url), { workerData: { path: this.#path } });
    worker.on('message', (answer: SqliteAnswer) => this.#settle(worker, answer));
    worker.on('error', error => this.#ended(worker, error.message));
    worker.on('exit', () => this.#ended(worker, 'its thread has ended'));
    this.#worker = worker;
  }

  #settle(worker: Worker, answer: SqliteAnswer): void {
    if (this.#worker !== worker) return;
    const waiting = this.#waiting.shift();
    // An idle thread does not keep the process alive; one that is being closed does, until it has ended.
    if (this.#waiting.length === 0 && !this.#isClosed) worker.unref();
    try {
      waiting?.resolve(rowsOf(answer));
    } catch (error) {
      waiting?.reject(error);
    }
  }

  #ended(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.generation++;
    for (const { reject } of this.#waiting) reject(new StoreUnavailable(`${this.#path}: ${why}`));
    this.#waiting = [];
  }
}
