import type { Connection } from './database.ts';
import { attachmentOf, creationOf, type Month, monthlyTables, monthsFrom } from './months.ts';

/** Indexes of the tables, by what follows their names. */
const indexes = {
  ledger: {
    by_time: '(started_ms, id)',
    by_account: '(account, started_ms, id)',
    by_request_id: '(request_id)',
    failures: '(started_ms, id) WHERE error_type IS NOT NULL',
    failures_untyped: '(started_ms, id) WHERE error_type IS NULL AND status >= 400',
  },
  attempts: { failed: "(provider, ledger_id) WHERE outcome = 'failed'" },
} as const;

const primaryKeys = { ledger: 'id', attempts: 'ledger_id, number' } as const;

/**
 * Divides the ledger and its attempts by month in Postgres. What is there stays where it is, as one table for all time up to the end of this
 * month, and only its indexes are built anew, since ids must be in the order of their bytes. Instances of the version before go on.
 */
export async function divideLedger(
  connection: Connection,
  isPostgres: boolean,
  epoch_ms: number,
): Promise<void> {
  if (!isPostgres) return;
  const [current, ...next] = monthsFrom(epoch_ms) as [Month, ...Month[]];
  for (const { table, key } of monthlyTables)
    for (const sql of division(table, key, current, next)) await connection.run(sql);
}

function division(
  table: keyof typeof indexes,
  key: string,
  { suffix, end_id }: Month,
  next: readonly Month[],
): string[] {
  const [whole, past] = [`sluice.${table}`, `${table}_to_${suffix}`];
  const named = Object.entries(indexes[table]);
  return [
    `ALTER TABLE ${whole} ALTER COLUMN ${key} TYPE TEXT COLLATE "C"`,
    `ALTER TABLE ${whole} RENAME TO ${past}`,
    ...['pkey', ...named.map(([name]) => name)].map(
      name => `ALTER INDEX ${whole}_${name} RENAME TO ${past}_${name}`,
    ),
    `CREATE TABLE ${whole} (LIKE sluice.${past} INCLUDING DEFAULTS) PARTITION BY RANGE (${key})`,
    `ALTER TABLE ${whole} ADD CONSTRAINT ${table}_pkey PRIMARY KEY (${primaryKeys[table]})`,
    ...named.map(([name, of]) => `CREATE INDEX ${table}_${name} ON ${whole} ${of}`),
    sameRights(past, table),
    `CREATE TABLE ${whole}_others PARTITION OF ${whole} DEFAULT`,
    ...next.flatMap(month => [creationOf(table, month), attachmentOf(table, month)]),
    // Of clocks that were ahead.
    `WITH later AS (DELETE FROM sluice.${past} WHERE ${key} >= '${end_id}' RETURNING *) INSERT INTO ${whole} SELECT * FROM later`,
    `ALTER TABLE ${whole} ATTACH PARTITION sluice.${past} FOR VALUES FROM (MINVALUE) TO ('${end_id}')`,
  ];
}

/** Gives the roles that may read or write `from`, such as that of reports, the same rights to `to`. */
const sameRights = (from: string, to: string): string => `DO $$
  DECLARE given RECORD;
  BEGIN
    FOR given IN SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role
      FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = 'sluice.${from}'::regclass AND grantee <> relowner
    LOOP
      EXECUTE format('GRANT %s ON sluice.${to} TO %s', given.privilege_type, given.role);
    END LOOP;
  END $$`;
