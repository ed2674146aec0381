import {
  type Connection,
  checkControl,
  type Database,
  type ProviderControl,
  type ProviderControls,
} from '../../../src/store-plugin.ts';
import { recordChange } from './audit-log.ts';

const columns = 'provider, state, weight, until_ms, reason, actor, at_ms';
const replaced = columns
  .split(', ')
  .map(name => `${name} = excluded.${name}`)
  .join(', ');

/** The controls of providers, each change of which has a number of the change feed. */
export const providerControls = (database: Database): ProviderControls => ({
  list: () => listControls(database),

  set: async (control, operator) => {
    checkControl(control, operator.at_ms);
    const { actor, at_ms } = operator;
    const { provider, state, weight, until_ms, reason } = control;
    const row: ProviderControl = { provider, state, weight, until_ms, reason, actor, at_ms };
    return database.transaction(async connection => {
      const former = await inForce(connection, provider, at_ms);
      const set = detailOf(row);
      const detail = former ? { ...set, before: detailOf(former) } : set;
      await recordChange(connection, operator, 'provider.change', provider, detail);
      await connection.run('DELETE FROM sluice.provider_controls WHERE until_ms <= ?', [at_ms]);
      const onConflict = `ON CONFLICT (provider) DO UPDATE SET ${replaced}`;
      await connection.insert(
        'sluice.provider_controls',
        [{ ...row, weight: weight === null ? null : `${weight}` }],
        onConflict,
      );
      return row;
    });
  },

  clear: (provider, operator) =>
    database.transaction(async connection => {
      const former = await inForce(connection, provider, operator.at_ms);
      if (!former) return false;
      const detail = { state: 'active', before: detailOf(former) };
      await recordChange(connection, operator, 'provider.change', provider, detail);
      await connection.run('DELETE FROM sluice.provider_controls WHERE provider = ?', [provider]);
      return true;
    }),
});

/** All controls, by the names of the providers. */
export const listControls = async (connection: Connection): Promise<ProviderControl[]> =>
  (
    await connection.run<StoredControl>(`SELECT ${columns} FROM sluice.provider_controls ORDER BY provider`)
  ).map(controlOf);

/** A weight is a text, which every database returns as it was. */
type StoredControl = Omit<ProviderControl, 'weight'> & { readonly weight: string | null };

const controlOf = ({ weight, ...row }: StoredControl): ProviderControl => ({
  ...row,
  weight: weight === null ? null : Number(weight),
});

/** The control of a provider, which no other transaction changes meanwhile. */
async function inForce(
  connection: Connection,
  provider: string,
  at_ms: number,
): Promise<ProviderControl | undefined> {
  const [row] = await connection.run<StoredControl>(
    `UPDATE sluice.provider_controls SET provider = provider
    WHERE provider = ? AND (until_ms IS NULL OR until_ms > ?) RETURNING ${columns}`,
    [provider, at_ms],
  );
  return row && controlOf(row);
}

/** What the audit log has of a control. */
const detailOf = ({ state, weight, until_ms, reason }: ProviderControl): object => ({
  state,
  ...(weight !== null && { weight }),
  ...(until_ms !== null && { until_ms }),
  ...(reason !== '' && { reason }),
});
