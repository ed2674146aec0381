import type { Database } from './database.ts';

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
export class ChangeFeed {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** What has changed after `since`; without it only the number. */
  async since(since: number | undefined): Promise<Changes> {
    const [counter] = await this.#database.run<{ value: number }>('SELECT value FROM change_counter');
    const change = counter?.value ?? 0;
    if (since === undefined || change === since) return { change, of: none };
    // A restored backup counts from an earlier number on.
    if (change < since || change - since > named_changes) return { change, of: 'all' };
    const keys = await this.#database.run<{ digest: string }>(
      'SELECT digest FROM api_keys WHERE change > ?',
      [since],
    );
    const accounts = await this.#database.run<{ id: string }>('SELECT id FROM accounts WHERE change > ?', [
      since,
    ]);
    return {
      change,
      of: { digests: keys.map(({ digest }) => digest), accounts: accounts.map(({ id }) => id) },
    };
  }
}
