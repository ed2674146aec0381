import { parentPort, workerData } from 'node:worker_threads';
import type { Row, Value } from './database.ts';
import { faultOf, SqliteConnection, type SqliteFault } from './sqlite-connection.ts';

/** What the thread is asked. `reader` sees only what has been committed. */
export interface SqliteCall {
  readonly id: number;
  readonly on: 'reader' | 'writer';
  readonly sql: string;
  readonly values: readonly Value[];
}

/** What it answers; with id 0 once, when the file has been opened or could not be. */
export type SqliteAnswer =
  | { readonly id: number; readonly rows: readonly Row[] }
  | { readonly id: number; readonly fault: SqliteFault };

/** The thread in which a SQLite file is read and written, so that no disk and no lock ever holds up the gateway's event loop. */
function open(path: string): void {
  const answer = (message: SqliteAnswer) => parentPort!.postMessage(message);
  try {
    const writer = new SqliteConnection(path);
    const reader = new SqliteConnection(path, true);
    parentPort!.on('message', (call: SqliteCall | 'close') => {
      if (call === 'close') {
        reader.close();
        writer.close();
        parentPort!.close();
        return;
      }
      const { id, on, sql, values } = call;
      try {
        answer({ id, rows: (on === 'writer' ? writer : reader).run(sql, values) });
      } catch (thrown) {
        answer({ id, fault: faultOf(thrown) });
      }
    });
    answer({ id: 0, rows: [] });
  } catch (thrown) {
    answer({ id: 0, fault: faultOf(thrown) });
    parentPort!.close();
  }
}

open((workerData as { path: string }).path);
