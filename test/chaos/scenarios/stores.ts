import { DatabaseSync } from 'node:sqlite';
import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';
import { until } from '../../support/until.ts';
import { everydayKinds } from '../clients/healthy.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

const alarms = /the state store is out/;
const records_alarms = /the records store is out/;
const clients = [{ count: 12, kinds: everydayKinds }];
const away_ms = ({ options }: World): number => Math.min(10_000, options.seconds * 300);

/** Stores that answer but cannot serve. */
export const storeScenarios: readonly Scenario[] = [
  {
    name: 'redis-out-of-memory',
    what: 'Redis refuses every write for want of memory, and has more later.',
    servers: { gateways: 2, redis: 'one' },
    clients,
    alarms,
    steps: [
      {
        after: 0.3,
        what: 'maxmemory is a byte',
        do: ({ redis: [server] }) => server!.cli('CONFIG', 'SET', 'maxmemory', '1'),
      },
      {
        after: 0.3,
        what: 'maxmemory is raised',
        do: ({ redis: [server] }) => server!.cli('CONFIG', 'SET', 'maxmemory', '0'),
      },
    ],
  },
  {
    name: 'redis-demoted',
    what: 'Redis becomes a replica of another, to which new connections of its address lead.',
    servers: { gateways: 2, redis: 'relayed' },
    clients,
    alarms,
    steps: [{ after: 0.4, what: 'failover', do: demote }],
  },
  {
    name: 'disk-full',
    what: 'No space is left for the SQLite records and for the queue of the ledger; later there is.',
    servers: { small_disk: true },
    clients,
    alarms: /ledger|records|queue|disk/,
    steps: [
      { after: 0.25, what: 'the disk is full', do: world => world.fillDisk() },
      { after: 0.35, what: 'the disk has room', do: world => world.freeDisk() },
    ],
  },
  {
    name: 'locked-tables',
    what: 'Another program holds the SQLite file of the records, as BEGIN EXCLUSIVE does.',
    clients,
    alarms: records_alarms,
    steps: [
      {
        after: 0.3,
        what: 'BEGIN EXCLUSIVE, then ROLLBACK',
        do: async world => {
          const database = new DatabaseSync(world.records.replace('sqlite:', ''), { timeout: 5000 });
          database.exec('BEGIN EXCLUSIVE');
          await after(away_ms(world));
          database.exec('ROLLBACK');
          database.close();
        },
      },
    ],
  },
  {
    name: 'locked-tables-postgres',
    what: 'Another session holds the tables of the records, as LOCK TABLE does.',
    servers: { gateways: 2, postgres: true },
    clients,
    alarms: records_alarms,
    steps: [
      {
        after: 0.3,
        what: 'LOCK TABLE, then ROLLBACK',
        do: async world => {
          const session = new pg.Client({ connectionString: world.postgres!.url });
          await session.connect();
          const { rows } = await session.query(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
          );
          const names = rows.map(({ table_name }) => table_name as string);
          await session.query(`BEGIN; LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`);
          await after(away_ms(world));
          await session.query('ROLLBACK');
          await session.end();
        },
      },
    ],
  },
];

/** The replica takes over with all that was written; connections stay with the server that is now a replica. */
async function demote({ redis: [old, next], relay }: World): Promise<void> {
  relay!.port = next!.port;
  await old!.cli('FAILOVER');
  await until(async () => (await next!.cli('ROLE')).startsWith('master'));
}
