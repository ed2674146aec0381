import type { ChangeFeed, Database } from '../../../src/store-plugin.ts';
import { listControls } from './provider-controls.ts';

/** More changes than this at once are reported as `all`. */
const max_named_changes = 500;

/** How instances notice changes by others: every change of a key, account or control has the next number of one counter. */
export const changeFeed = (database: Database): ChangeFeed => ({
  async since(since) {
    const [counter] = await database.run<{ value: number }>('SELECT value FROM sluice.change_counter');
    const change = counter?.value ?? 0;
    if (change === since) return { change, of: { digests: [], accounts: [] } };
    const namesOf = async (sql: string, ...values: number[]) =>
      (await database.run<{ name: string }>(sql, values)).map(({ name }) => name);
    const disabled = () => namesOf('SELECT id AS name FROM sluice.accounts WHERE disabled_ms IS NOT NULL');
    const imported = await namesOf('SELECT id AS name FROM sluice.api_keys WHERE imported = 1 LIMIT 1');
    const all = { controls: await listControls(database), has_imported: imported.length > 0 };
    if (since === undefined)
      return { change, of: { digests: [], accounts: [] }, disabled: await disabled(), ...all };
    // A restored backup counts from an earlier number on.
    if (change < since || change - since > max_named_changes)
      return { change, of: 'all', disabled: await disabled(), ...all };
    const changed = (column: string, table: string) =>
      namesOf(`SELECT ${column} AS name FROM ${table} WHERE change > ?`, since);
    const digests = await changed('digest', 'sluice.api_keys');
    const accounts = await changed('id', 'sluice.accounts');
    const of = { digests, accounts };
    return { change, of, ...all, ...(accounts.length > 0 && { disabled: await disabled() }) };
  },
});
