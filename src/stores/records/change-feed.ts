import type { Database } from './database.ts';

/** What has changed since a number was read. */
export interface Changes {
  /** The number to ask with next time. */
  readonly change: number;
  /** Digests of keys and ids of accounts; `all` when they are too many to name, or the store was replaced by an older one. */
  readonly of: 'all' | { readonly digests: readonly string[]; readonly accounts: readonly string[] };
}

/** More changes than this at once are reported as `all`. */
const max_named_changes = 500;

/** How instances notice changes by others: every change of a key or account has the next number of one counter. */
export const changeFeed = (database: Database) => ({
  /** The changes after number `since`; without it only the present number. */
  async since(since: number | undefined): Promise<Changes> {
    const [counter] = await database.run<{ value: number }>('SELECT value FROM sluice.change_counter');
    const change = counter?.value ?? 0;
    if (since === undefined || change === since) return { change, of: { digests: [], accounts: [] } };
    // A restored backup counts from an earlier number on.
    if (change < since || change - since > max_named_changes) return { change, of: 'all' };
    const changed = async (column: string, table: string) => {
      const sql = `SELECT ${column} AS name FROM ${table} WHERE change > ?`;
      return (await database.run<{ name: string }>(sql, [since])).map(({ name }) => name);
    };
    const digests = await changed('digest', 'sluice.api_keys');
    return { change, of: { digests, accounts: await changed('id', 'sluice.accounts') } };
  },
});

export type ChangeFeed = ReturnType<typeof changeFeed>;
