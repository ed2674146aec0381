import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { countersLua } from '../../../../../plugins/stores/redis/lua-counters.ts';
import { script } from '../../../../../plugins/stores/redis/lua-script.ts';
import { RedisConnection } from '../../../../../plugins/stores/redis/redis-connection.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';

let redis: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  redis = await startRedis();
  connection = new RedisConnection({
    url: redis.url,
    connect_timeout_ms: 2000,
    timeout_ms: 5000,
    log: createLog('silent'),
  });
  await connection.started();
});

afterAll(async () => {
  await connection?.close();
  await redis?.stop();
});

it('matches Date in the calendar of the scripts for every day of 400 years, after which days repeat', async () => {
  const text = `
local reply = {}
for day = ARGV[2], ARGV[3] do
  local month = period_of('month', day * 86400000 + 86399999)
  table.insert(reply, month)
  table.insert(reply, end_of('month', month) / 86400000)
end
return reply`;
  const first = Date.UTC(1900, 0, 1) / 86_400_000;
  const last = Date.UTC(2300, 0, 1) / 86_400_000;
  const wrong: string[] = [];
  for (let from = first; from < last; from += 50_000) {
    const args = ['0', String(from), String(from + 49_999)];
    const reply = (await connection.run(script(countersLua, text), [], args)) as number[];
    for (let at = 0; at < 50_000; at++) {
      const date = new Date((from + at) * 86_400_000);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      const expected = [year * 12 + month, Date.UTC(year, month + 1) / 86_400_000];
      if (reply[2 * at] !== expected[0] || reply[2 * at + 1] !== expected[1]) wrong.push(date.toISOString());
    }
  }
  expect(wrong).toEqual([]);
});
