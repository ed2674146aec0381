import { within } from '../../common/within.ts';
import type { Connection, Database, Row, Value } from '../../records/database.ts';
import { RecordRefused, StoreUnavailable } from '../../records/record-errors.ts';
import { type Channel, ChannelUnavailable, RemoteError } from '../workers/channel.ts';

/** The longest wait for the primary: longer than it waits for the lock of a SQLite file itself. */
const answer_ms = 10_000;

/** A statement of a worker. Without a transaction it may only read. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
  /** As `records.begin` has named it. */
  readonly transaction?: number;
}

/** Rows that a worker inserts. */
export interface Insertion extends Pick<Statement, 'transaction'> {
  readonly table: string;
  readonly rows: readonly Row[];
  readonly end: string;
}

/** The database of the primary process, as its workers reach it. */
export function channelDatabase(channel: Channel): Database {
  let isClosed = false;
  const ask = async (name: string, payload: unknown): Promise<unknown> => {
    const late = () => new StoreUnavailable(`the primary process has not answered within ${answer_ms} ms`);
    if (isClosed) throw new StoreUnavailable('the records have been closed');
    try {
      return await within(channel.request(name, payload), answer_ms, late);
    } catch (thrown) {
      throw storeFault(thrown);
    }
  };
  const connection = (transaction?: number): Connection => ({
    run: <R extends object>(sql: string, values: readonly Value[] = []) =>
      ask('records.run', { sql, values, transaction } as Statement) as Promise<R[]>,
    insert: <R extends object>(table: string, rows: readonly Row[], end = '') =>
      ask('records.insert', { table, rows, end, transaction } as Insertion) as Promise<R[]>,
  });
  const transaction = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const begun = (await ask('records.begin', undefined)) as number;
    try {
      const done = await work(connection(begun));
      await ask('records.commit', begun);
      return done;
    } catch (thrown) {
      channel.notify('records.rollback', begun);
      throw thrown;
    }
  };
  return {
    ...connection(),
    transaction,
    longTransaction: transaction,
    settle: async () => void (await ask('records.settle', undefined)),
    close: async () => void (isClosed = true),
  };
}

/** What the primary process has thrown, as a database in this process would have thrown it. */
export function storeFault(thrown: unknown): unknown {
  if (thrown instanceof ChannelUnavailable) return new StoreUnavailable(thrown.message, { cause: thrown });
  if (!(thrown instanceof RemoteError)) return thrown;
  const { name, message, cause } = thrown;
  if (name === 'StoreUnavailable') return new StoreUnavailable(message, { cause });
  return name === 'RecordRefused' ? new RecordRefused(message) : thrown;
}
