import type { Connection } from '../../../src/store-plugin.ts';

/** Any number, the same in every version, and another one than that of migrations. */
const lock = 0x736c75696366;

/** Whether no other instance prunes; in Postgres, until the end of the transaction. */
export async function isFirst(connection: Connection): Promise<boolean> {
  const [row] = await connection.run<{ taken: boolean }>(
    `SELECT pg_try_advisory_xact_lock(${lock}) AS taken`,
  );
  return row!.taken;
}
