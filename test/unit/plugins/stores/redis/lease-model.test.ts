import { afterAll, beforeAll, describe, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { RedisTable } from '../../../../support/redis-table.ts';
import {
  calm,
  disasters,
  ended,
  losses,
  network,
  type Operation,
  runOf,
} from '../../../src/mount/state/leases/lease-operations.ts';
import { times, told_times } from '../../../src/mount/state/leases/lease-world.ts';

/** Few: each operation is a message to a server. The table in memory has more. */
const runs = 40;
let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis?.stop());

describe.each([
  ['that hear by polling what is asked back', times],
  ['that are told what is asked back', told_times],
])('leases with a table in Redis of processes %s', (_, own_times) => {
  let table: RedisTable;
  beforeAll(() => {
    table = new RedisTable(redis.url, own_times);
  });
  afterAll(() => table?.close());
  const newTable = (clock: Parameters<RedisTable['begin']>[0]) => table.begin(clock);
  it.each([
    ['requests alone', calm],
    ['messages that are late, lost, doubled and in another order', network],
    ['crashes, silences and clocks that are set', disasters],
    ['a table that loses its state, with one limit more for each loss', losses],
  ])(
    'admit at most the limit in any window, forget no use and lose no quota under %s',
    (_, kinds) => {
      // Windows in Redis follow its time of day, which is not set here.
      const run = runOf(kinds).map(run => ({
        ...run,
        operations: run.operations.filter((one: Operation) => !('step_days' in one) || one.of !== undefined),
      }));
      fc.assert(
        fc.property(run, run => {
          ended(run, { newTable, own_times });
        }),
        { numRuns: runs },
      );
    },
    120_000,
  );

  it('refuse no request that fits, but for what others returned in the last 110 ms', () => {
    const property = fc.property(runOf(calm), run => ended(run, { newTable, own_times }).verifyRefusals(110));
    fc.assert(property, { numRuns: runs });
  }, 120_000);
});
