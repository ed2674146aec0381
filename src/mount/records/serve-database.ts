import type { Connection, Database } from '../../records/database.ts';
import { StoreUnavailable } from '../../records/record-errors.ts';
import type { Channel } from '../workers/channel.ts';
import type { Insertion, Statement } from './channel-database.ts';

/** Time without a statement after which a worker's transaction is rolled back: all other writers wait for it. */
const idle_ms = 5000;

/** A transaction that a worker has begun. */
interface Begun {
  readonly connection: Connection;
  /** Settles when the database has committed it, or rolled it back. */
  readonly done: Promise<unknown>;
  commit(): void;
  rollBack(why: Error): void;
  readonly idle: NodeJS.Timeout;
}

/** Runs the statements of a worker on `database`. What it has begun and not committed when the channel closes is rolled back. */
export function serveDatabase(channel: Channel, database: Database): void {
  const begun = new Map<number, Begun>();
  let last = 0;

  const begin = (): Promise<number> => {
    const id = ++last;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<void>();
    const done = database.transaction(async connection => {
      if (!channel.isOpen) throw new StoreUnavailable('the worker has ended');
      const rollBack = (why: Error) => ended.reject(why);
      const late = () => rollBack(new StoreUnavailable(`a transaction was idle for ${idle_ms} ms`));
      const idle = setTimeout(late, idle_ms);
      begun.set(id, { connection, done, commit: ended.resolve, rollBack, idle });
      resolve(id);
      await ended.promise.finally(() => {
        clearTimeout(idle);
        begun.delete(id);
      });
    });
    // Before it has begun this is the answer; afterwards that of the commit.
    done.catch(reject);
    return promise;
  };

  const find = (id: number): Begun => {
    const found = begun.get(id);
    if (!found) throw new StoreUnavailable('a transaction was cut off');
    found.idle.refresh();
    return found;
  };

  channel
    .handle('records.run', payload => {
      const { sql, values, transaction } = payload as Statement;
      return (transaction === undefined ? database : find(transaction).connection).run(sql, values);
    })
    .handle('records.insert', payload => {
      const { table, rows, end, transaction } = payload as Insertion;
      return (transaction === undefined ? database : find(transaction).connection).insert(table, rows, end);
    })
    .handle('records.settle', () => database.settle?.())
    .handle('records.begin', begin)
    .handle('records.commit', async payload => {
      const { commit, done } = find(payload as number);
      commit();
      await done;
    })
    .handle('records.rollback', payload =>
      begun.get(payload as number)?.rollBack(new Error('the worker has rolled it back')),
    )
    .onClosed(() => {
      for (const { rollBack } of begun.values()) rollBack(new StoreUnavailable('the worker has ended'));
    });
}
