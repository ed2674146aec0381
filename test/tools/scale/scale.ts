import { openPostgres } from '../../../plugins/stores/postgres/postgres.ts';
import type { Database } from '../../../plugins/stores/records/database.ts';
import { ledgerMonths } from '../../../plugins/stores/records/ledger-months.ts';
import { ledgerRecords } from '../../../plugins/stores/records/ledger-records.ts';
import { migrate } from '../../../plugins/stores/records/migrate.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { numberFrom } from '../command-options.ts';
import { machineText, thisMachine } from '../machine.ts';
import { defineTool } from '../tool.ts';
import { MadeExchanges, usedBy } from './made-exchanges.ts';
import { monthTable, projectionTable } from './scale-tables.ts';
import { StateMonth } from './state-month.ts';
import {
  batchesPerSecond,
  connectionCpu,
  largestKeys,
  ledgerFigures,
  redisFigures,
} from './store-figures.ts';

const began_ms = Date.parse('2026-11-01T00:00:00Z');
const month_ms = 30 * 86_400_000;
const lasts_ms = 20_000;
const renewal_ms = 5000;
/** Instances that write small batches at once. */
const writers = 12;

const count = numberFrom(1, 99_999_999);

type Options = Readonly<Record<'accounts' | 'instances' | 'exchanges' | 'together', number>>;
/** What the simulated month has counted. */
export type MonthFigures = Awaited<ReturnType<typeof simulate>>;

/** A simulated month of many accounts at many instances, on a real Redis and Postgres, and what it says of larger loads. */
export const tool = defineTool<Options>({
  about: 'Prints both tables of docs/scale.md: what was measured, and what is computed from it.',
  options: command =>
    command
      .option('--accounts <N>', 'accounts, a few of which make most requests', count, 10_000)
      .option('--instances <N>', 'gateways', count, 50)
      .option('--exchanges <N>', 'in the month', count, 20_000)
      .option('--together <N>', 'exchanges that are open at the same time', count, 500),
  async run({ options }) {
    const redis = await startRedis();
    const postgres = await startPostgres();
    const database = await openPostgres(postgres.url, () => {});
    const clock = new FakeClock(began_ms);
    const state = new StateMonth(redis.url, options.instances, clock);
    try {
      await migrate(database, true, clock.epoch_ms());
      await ledgerMonths(database).prepare(clock.epoch_ms());
      await state.heartbeats();
      const month = await simulate(options, { redis, postgres, database, clock, state });
      process.stdout.write(
        `${[machineText(thisMachine()), monthTable(month), projectionTable(month)].join('\n\n')}\n`,
      );
    } finally {
      await state.close();
      await database.close();
      await postgres.stop();
      await redis.stop();
    }
    return true;
  },
});

/** What the month is simulated on. */
interface Stores {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly database: Database;
  readonly clock: FakeClock;
  readonly state: StateMonth;
}

/** The month: again and again many exchanges begin, are renewed and end together, and their rows are written in one batch. */
async function simulate(
  { accounts, instances, exchanges, together }: Options,
  { redis, postgres, database, clock, state }: Stores,
) {
  const made = new MadeExchanges(accounts, instances);
  const ledger = ledgerRecords(database);
  const empty = await redisFigures(redis);
  const total = { admitted: 0, renewals: 0 };
  const cpuBefore = await connectionCpu(database);
  let open = empty;
  let largest = { bytes: 0, members: 0 };
  const waves = Math.ceil(exchanges / together);
  for (let wave = 0; wave < waves; wave++) {
    const some = Array.from({ length: together }, () => made.at(clock.epoch_ms()));
    const begun = await Promise.all(some.map(async each => ({ each, open: await state.begin(each) })));
    const admitted = begun.flatMap(({ each, open }) => (open ? [{ each, open }] : []));
    if (wave === waves - 1) {
      open = await redisFigures(redis);
      largest = await largestKeys(redis);
    }
    for (let passed_ms = renewal_ms; passed_ms < lasts_ms; passed_ms += renewal_ms) {
      clock.advance(renewal_ms);
      await Promise.all(admitted.map(({ open }) => open.renew()));
      total.renewals += admitted.length;
    }
    clock.advance(renewal_ms);
    await Promise.all(admitted.map(({ each, open }) => open.settle(usedBy(each.row))));
    await ledger.insert(admitted.map(({ each }) => each.row));
    total.admitted += admitted.length;
    clock.advance(Math.max(0, month_ms / waves - lasts_ms));
  }
  const settled = await redisFigures(redis);
  let postgres_us = 0;
  for (const [pid, us] of await connectionCpu(database)) postgres_us += us - (cpuBefore.get(pid) ?? 0);
  return {
    accounts,
    instances,
    together,
    ...total,
    calls: settled.calls - empty.calls,
    redis_us: settled.cpu_us - empty.cpu_us,
    postgres_us,
    keys: settled.keys,
    memory_bytes: settled.memory_bytes - empty.memory_bytes,
    open_bytes: open.memory_bytes - settled.memory_bytes,
    largest,
    ...(await ledgerFigures(database)),
    batches_from_one: await batchesPerSecond(postgres.url, 1, clock.epoch_ms()),
    batches_from_many: await batchesPerSecond(postgres.url, writers, clock.epoch_ms()),
    writers,
  };
}
