import cluster from 'node:cluster';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { WorkerPoolMetrics } from '../../../../src/telemetry/worker-pool-metrics.ts';
import { WorkerPool } from '../../../../src/workers/worker-pool.ts';
import { Workers } from '../../../../src/workers/workers.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { until } from '../../../support/until.ts';

/** A worker that asks for its configuration and serves at once. */
const program = `process.send({ sluice: [[[1, 'start', null], [0, 'ready', 'http://127.0.0.1:9']], []] })`;

const { log, lines } = capturedLog();
let pool: WorkerPool;
let later_ms = 0;

beforeEach(async () => {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + later_ms);
  cluster.setupPrimary({ exec: import.meta.filename, execArgv: ['-e', program], args: [] });
  const metrics = new WorkerPoolMetrics(new Registry());
  pool = new WorkerPool({ count: 1, config: {}, listener: {} }, { log, metrics, workers: new Workers() });
  await pool.start();
});
afterEach(async () => {
  await pool.close({ unready_ms: 0, isReplaced: false }, 0);
  jest.restoreAllMocks();
});

it('waits twice as long before each start of a worker that ends again, and as at first after a minute', async () => {
  const said = (message: string) => lines.filter(({ msg }) => msg === message);
  for (const [ends, age_ms] of [0, 50_000, 60_000, 0].entries()) {
    await until(() => said('worker is ready').length > ends);
    later_ms += age_ms;
    process.kill(said('worker is ready').at(-1)!.pid as number, 'SIGKILL');
  }
  await until(() => pool.ready === 1 && said('worker is ready').length === 5);
  const ends = said('worker ended, another one is started');
  expect(ends.map(({ restart_ms }) => restart_ms)).toEqual([100, 200, 100, 200]);
});
