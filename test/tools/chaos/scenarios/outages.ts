import { DatabaseSync } from 'node:sqlite';
import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';
import { until } from '../../../support/until.ts';
import { everydayKinds } from '../clients/healthy.ts';
import type { Deployment } from '../deployment.ts';
import type { Scenario, Servers } from '../scenario.ts';

/** Makes something fail, and returns what ends the failure. */
type Fail = (deployment: Deployment) => (() => unknown) | Promise<() => unknown>;

/** A server that can be killed and paused. */
interface Server {
  kill(): Promise<void>;
  restart?(): Promise<void>;
  start?(): Promise<void>;
  pause(): void;
  resume(): void;
}

const withRedis: Servers = { gateways: 2, providers: 2, redis: 'one' };
/** Two instances that share everything. */
const sharing: Servers = { ...withRedis, postgres: true };
const gateway = ({ gateways: [first] }: Deployment): Server => first!;
const redis = ({ redis: [server] }: Deployment): Server => server!;
const postgres = (deployment: Deployment): Server => deployment.postgres!;
const state_alarms = { alarms: /the state store is down/ };
const records_alarms = { alarms: /the records store is down/ };
const clients = [{ count: 12, kinds: everydayKinds }];

const killed =
  (serverOf: (deployment: Deployment) => Server): Fail =>
  async deployment => {
    const server = serverOf(deployment);
    await server.kill();
    return () => server.restart?.() ?? server.start?.();
  };

const paused =
  (serverOf: (deployment: Deployment) => Server): Fail =>
  deployment => {
    const server = serverOf(deployment);
    server.pause();
    return () => server.resume();
  };

/** The failure begins after a third of the run, and ends a third later, but at most after `longest_ms`. */
function outage(
  name: string,
  servers: Servers,
  fail: Fail,
  what: string,
  { longest_ms = 8000, ...more }: Partial<Scenario> & { readonly longest_ms?: number } = {},
): Scenario {
  let end: () => unknown;
  const begin = async (deployment: Deployment) => {
    end = await fail(deployment);
  };
  const endAfterAWhile = async ({ options }: Deployment) => {
    await after(Math.min(longest_ms, options.seconds * 300));
    await end();
  };
  const steps = [
    { after: 0.3, what: 'it fails', act: begin },
    { after: 0, what: 'it is back', act: endAfterAWhile },
  ];
  return { name, what, servers, clients, steps, ...more };
}

/** Servers that are killed, stop answering, or answer and cannot serve, under load, and recover. */
export const outages: readonly Scenario[] = [
  outage(
    'gateway-killed',
    sharing,
    killed(gateway),
    'SIGKILL of one of two instances: what it had in hand breaks, everything else goes on.',
    // What it had reserved stays counted.
    { exact_limits: false },
  ),
  outage(
    'gateway-stopped',
    sharing,
    paused(gateway),
    'SIGSTOP and SIGCONT of one of two instances: its clients wait and are served.',
    // Its timers are over when it goes on, whatever has been answered meanwhile.
    { alarms: /the (state|records) store is down/ },
  ),
  outage(
    'redis-killed',
    withRedis,
    killed(redis),
    'SIGKILL of Redis: limits are held alone, and counted exactly once it is back.',
    state_alarms,
  ),
  outage(
    'redis-stopped',
    withRedis,
    paused(redis),
    'SIGSTOP and SIGCONT of Redis: no request waits for it, and each is counted once.',
    state_alarms,
  ),
  outage(
    'postgres-killed',
    sharing,
    killed(postgres),
    'SIGKILL of PostgreSQL: keys go on working, and the ledger waits on disk.',
    records_alarms,
  ),
  outage(
    'postgres-stopped',
    sharing,
    paused(postgres),
    'SIGSTOP and SIGCONT of PostgreSQL: no request waits for it, no row is lost or doubled.',
    records_alarms,
  ),
  outage(
    'redis-out-of-memory',
    { gateways: 2, redis: 'one' },
    async ({ redis: [server] }) => {
      const setMemory = (bytes: string) => server!.cli('CONFIG', 'SET', 'maxmemory', bytes);
      await setMemory('1');
      return () => setMemory('0');
    },
    'Redis refuses every write for want of memory, and has more later.',
    { ...state_alarms, longest_ms: Number.POSITIVE_INFINITY },
  ),
  {
    name: 'redis-demoted',
    what: 'Redis becomes a replica of another, to which new connections of its address lead.',
    servers: { gateways: 2, redis: 'relayed' },
    clients,
    ...state_alarms,
    steps: [{ after: 0.4, what: 'failover', act: demote }],
  },
  outage(
    'disk-full',
    { small_disk: true },
    deployment => {
      deployment.fillDisk();
      return () => deployment.freeDisk();
    },
    'No space is left for the SQLite records and for the queue of the ledger; later there is.',
    { alarms: /ledger|records|queue|disk/, longest_ms: Number.POSITIVE_INFINITY },
  ),
  outage(
    'locked-tables',
    {},
    ({ records }) => {
      const database = new DatabaseSync(records.stores.records.replace('sqlite:', ''), { timeout: 5000 });
      database.exec('BEGIN EXCLUSIVE');
      return () => database.close();
    },
    'Another program holds the SQLite file of the records, as BEGIN EXCLUSIVE does.',
    { ...records_alarms, longest_ms: 10_000 },
  ),
  outage(
    'locked-tables-postgres',
    { gateways: 2, postgres: true },
    async deployment => {
      const session = new pg.Client({ connectionString: deployment.postgres!.url });
      await session.connect();
      const tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'sluice'";
      const { rows } = await session.query(tables);
      const names = rows.map(({ table_name }) => `sluice.${table_name}`).join(', ');
      await session.query(`BEGIN; LOCK TABLE ${names} IN ACCESS EXCLUSIVE MODE`);
      return () => session.end();
    },
    'Another session holds the tables of the records, as LOCK TABLE does.',
    { ...records_alarms, longest_ms: 10_000 },
  ),
];

/** The replica takes over with all that was written; connections stay with the server that is now a replica. */
async function demote({ redis: [old, next], relay }: Deployment): Promise<void> {
  relay!.port = next!.port;
  await old!.cli('FAILOVER');
  await until(async () => (await next!.cli('ROLE')).startsWith('master'), 30_000);
}
