/**
 * A pool of connections to Postgres, such as `new pg.Pool()` of the application. Any version or copy of pg 8 will do, and what wraps one:
 * these methods are all that is called.
 */
export interface PostgresPool {
  /** Lends a connection; waits for one as the pool does. */
  connect(): Promise<PostgresClient>;
  /** Listens for errors of idle connections. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  /** Stops listening. */
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** A connection of a pool. */
export interface PostgresClient {
  /** Runs one statement. */
  query(query: PostgresQuery): Promise<{ readonly rows: unknown[] }>;
  /** Gives the connection back; `true` closes it. */
  release(isBroken?: boolean): void;
  /** Listens for errors of the connection. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  /** Stops listening. */
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** One statement, in pg's form. */
export interface PostgresQuery {
  /** SQL with `$1`, `$2` … for the values. */
  text: string;
  /** One for each. */
  values: unknown[];
  /** How columns are read, whatever the parsers of the pool are. */
  types: { getTypeParser(oid: number): (text: string) => number | bigint | boolean | string };
  /** Milliseconds until the call is rejected, whatever the pool's own limit is. */
  query_timeout: number;
}
