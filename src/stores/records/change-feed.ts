import { DatabaseRecords } from './database.ts';

/** What has changed since a number was read. */
export interface Changes {
  /** The number to ask with next time. */
  readonly change: number;
  /** Digests of keys, and ids of accounts; or `all`, where they are too many to name, or the store is not the one it was. */
  readonly of: 'all' | { readonly digests: readonly string[]; readonly accounts: readonly string[] };
}

/** More changes than this at once are reported as `all`. */
const named_changes = 500;
const none: Changes['of'] = { digests: [], accounts: [] };

/** How instances notice what others have changed: every change of a key or account has the next number of one counter. */
export class ChangeFeed extends DatabaseRecords {
  /** What has changed after `since`; without it only the number. */
  async since(since: number | undefined): Promise<Changes> {
    const [counter] = await this.database.run<{ value: number }>('SELECT value FROM change_counter');
    const change = counter?.value ?? 0;
    if (since === undefined || change === since) return { change, of: none };
    // A restored backup counts from an earlier number on.
    if (change < since || change - since > named_changes) return { change, of: 'all' };
    const changed = async (column: string, table: string) => {
      const sql = `SELECT ${column} AS name FROM ${table} WHERE change > ?`;
      return (await this.database.run<{ name: string }>(sql, [since])).map(({ name }) => name);
    };
    const digests = await changed('digest', 'api_keys');
    return { change, of: { digests, accounts: await changed('id', 'accounts') } };
  }
}
