import { parentPort, workerData } from 'node:worker_threads';
import { RedisState } from '../../plugins/stores/redis/redis-state.ts';
import { createLog } from '../../src/telemetry/log.ts';
import type { Asked, TableOptions } from './redis-table.ts';

const { url, times, answered } = workerData as TableOptions;
let asked: Asked;
const state = new RedisState({
  url,
  times,
  connect_timeout_ms: 10_000,
  timeout_ms: 60_000,
  log: createLog('silent'),
  get key_prefix() {
    return asked.key_prefix;
  },
  now_ms: () => asked.now_ms,
});

parentPort!.on('message', async (next: Asked) => {
  asked = next;
  const [server] = state.servers();
  await server!.heartbeat(10_000);
  const answer = await state.exchange(asked.holder, asked.message).catch(String);
  asked.port.postMessage(answer);
  Atomics.store(answered, 0, 1);
  Atomics.notify(answered, 0);
});
