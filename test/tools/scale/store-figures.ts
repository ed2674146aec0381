import { openPostgres } from '../../../plugins/stores/postgres/postgres.ts';
import type { Database } from '../../../plugins/stores/records/database.ts';
import { ledgerRecords } from '../../../plugins/stores/records/ledger-records.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { cpuSecondsOf } from '../machine.ts';
import { MadeExchanges } from './made-exchanges.ts';

/** What a Redis has done and holds: calls of scripts, CPU time of the whole server, keys and memory. */
export async function redisFigures(redis: RedisServer) {
  const info = await redis.cli('info', 'everything');
  const of = (name: RegExp) => Number(name.exec(info)?.[1]);
  return {
    calls: of(/cmdstat_evalsha:calls=(\d+)/),
    cpu_us: 1e6 * (of(/used_cpu_sys:([\d.]+)/) + of(/used_cpu_user:([\d.]+)/)),
    keys: Number.parseInt(await redis.cli('dbsize'), 10),
    memory_bytes: of(/used_memory:(\d+)/),
  };
}

/** The largest key by its memory, and the most members that one has. */
export async function largestKeys(redis: RedisServer) {
  const script = `local bytes, members = 0, 0
    for _, key in ipairs(redis.call('KEYS', '*')) do
      bytes = math.max(bytes, redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0))
      local kind = redis.call('TYPE', key).ok
      if kind == 'hash' then members = math.max(members, redis.call('HLEN', key)) end
      if kind == 'zset' then members = math.max(members, redis.call('ZCARD', key)) end
    end
    return { bytes, members }`;
  const [bytes, members] = (await redis.cli('eval', script, '0')).match(/\d+/g)!.map(Number);
  return { bytes: bytes!, members: members! };
}

/** Rows and bytes of the tables of a ledger, its partitions included, with their indexes. */
export async function ledgerFigures(database: Database) {
  const tables = await database.run<{ name: string; bytes: number }>(
    `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
    WHERE relnamespace = 'sluice'::regnamespace AND relkind = 'r'`,
  );
  const isRow = ({ name }: { name: string }) => /^(ledger|attempts)_/.test(name);
  const sums = tables.filter(({ name }) => /_sums$/.test(name));
  let sum_rows = 0;
  for (const { name } of sums)
    sum_rows += (await database.run<{ rows: number }>(`SELECT COUNT(*) AS rows FROM sluice.${name}`))[0]!
      .rows;
  const bytesOf = (some: typeof tables) => some.reduce((all, { bytes }) => all + bytes, 0);
  return { row_bytes: bytesOf(tables.filter(isRow)), sum_rows, sum_bytes: bytesOf(sums) };
}

const batches_each = 60;

/** How many batches of one row Postgres takes in a second, from so many instances at once. */
export async function batchesPerSecond(url: string, writers: number, now_ms: number): Promise<number> {
  const made = new MadeExchanges(10_000, writers);
  const databases = await Promise.all(Array.from({ length: writers }, () => openPostgres(url, () => {})));
  const write = async (database: Database) => {
    for (let batch = 0; batch < batches_each; batch++)
      await ledgerRecords(database).insert([made.at(now_ms).row]);
  };
  const begun_ms = performance.now();
  await Promise.all(databases.map(write));
  const elapsed_ms = performance.now() - begun_ms;
  await Promise.all(databases.map(database => database.close()));
  return (1000 * writers * batches_each) / elapsed_ms;
}

/** CPU time of each process that serves a connection of a gateway, by its number. */
export async function connectionCpu(database: Database): Promise<Map<number, number>> {
  const connections = await database.run<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'sluice'",
  );
  return new Map(connections.map(({ pid }) => [pid, 1e6 * cpuSecondsOf(pid)]));
}
