import { parentPort, workerData } from 'node:worker_threads';
import type { Value } from '../database.ts';
import { faultOf, type SqliteAnswer, SqliteConnection } from './sqlite-connection.ts';

/** A statement for the thread, which answers in the order of its calls. `reader` sees only what has been committed. */
export interface SqliteCall {
  readonly on: 'reader' | 'writer';
  readonly sql: string;
  readonly values: readonly Value[];
  /** Runs it so many times, each with its part of the values. */
  readonly times: number;
}

/** The thread that reads and writes a SQLite file, so that no disk and no lock blocks the gateway's event loop. */
function serve(path: string): void {
  const answer = (message: SqliteAnswer) => parentPort!.postMessage(message);
  try {
    const connections = { writer: new SqliteConnection(path), reader: new SqliteConnection(path, true) };
    parentPort!.on('message', (call: SqliteCall | 'close') => {
      if (call !== 'close') return answer(connections[call.on].run(call.sql, call.values, call.times));
      connections.reader.close();
      connections.writer.close();
      parentPort!.close();
    });
    // The first answer: the file has been opened, or why not.
    answer({ rows: [] });
  } catch (thrown) {
    answer({ fault: faultOf(thrown) });
    parentPort!.close();
  }
}

serve((workerData as { path: string }).path);
