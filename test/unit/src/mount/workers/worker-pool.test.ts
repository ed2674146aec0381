import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { Channel, type ProcessEnd } from '../../../../../src/mount/workers/channel.ts';
import { WorkerPool, type WorkerSpec } from '../../../../../src/mount/workers/worker-pool.ts';
import { Workers } from '../../../../../src/mount/workers/workers.ts';
import { WorkerPoolMetrics } from '../../../../../src/telemetry/worker-pool-metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';

/** A worker as its primary process has it, and its own end of the channel; the process is only in this test. */
class TestWorker extends EventEmitter {
  readonly pid = workers.length + 1;
  /** Whether it answers. */
  isHung = false;
  readonly channel: Channel;
  readonly number: string;
  /** What it began with, and every configuration that it serves. */
  listener: unknown;
  readonly served: unknown[] = [];
  isGone = false;
  closing: unknown;

  constructor(number: string) {
    super();
    this.number = number;
    const own = new EventEmitter();
    const send = (to: EventEmitter) => (message: unknown, onSent: (error: null) => void) => {
      if (!this.isGone && !this.isHung) to.emit('message', message);
      onSent(null);
      return true;
    };
    this.send = send(own);
    this.channel = new Channel(Object.assign(own, { send: send(this) }) as unknown as ProcessEnd);
    this.channel.handle('close', closing => {
      this.closing = closing;
      this.exit(0, null);
    });
    void this.#begin();
  }

  readonly send: ProcessEnd['send'];

  async #begin(): Promise<void> {
    const { config, listener } = (await this.channel.request('start')) as WorkerSpec;
    this.listener = listener;
    await plans.begin?.(this);
    if (this.isGone) return;
    this.served.push(config);
    this.channel.handle('reload', async next => {
      await plans.reload?.(this, next);
      this.served.push(next);
    });
    this.channel.handle('alive', () => true);
    this.channel.notify('ready', 'http://127.0.0.1:9');
  }

  readonly kill = (signal: string) => this.exit(null, signal);

  exit(code: number | null, signal: string | null): void {
    if (this.isGone) return;
    this.isGone = true;
    this.emit('disconnect');
    this.emit('exit', code, signal);
  }
}

let workers: TestWorker[];
/** What workers do before they serve, and before they serve another configuration. */
let plans: Partial<Record<'begin' | 'reload', (worker: TestWorker, config?: unknown) => unknown>>;
let captured: ReturnType<typeof capturedLog>;
let known: Workers;
let pool: WorkerPool;

const spec = (count: number, config: string, listener: unknown = { port: 1 }): WorkerSpec => ({
  count,
  config,
  listener,
});
const open = (first: WorkerSpec) => {
  known = new Workers();
  const metrics = new WorkerPoolMetrics(new Registry());
  const fork = ({ SLUICE_WORKER = '' }: Readonly<Record<string, string>>) => {
    const worker = new TestWorker(SLUICE_WORKER);
    workers.push(worker);
    return worker as unknown as ChildProcess;
  };
  pool = new WorkerPool(first, { log: captured.log, metrics, workers: known, fork });
  return pool.start();
};
/** Lets everything happen that needs no time. */
const turns = async () => {
  for (let turn = 0; turn < 30; turn++) {
    jest.advanceTimersByTime(0);
    await new Promise(setImmediate);
  }
};
const pass = async (ms: number) => {
  // Workers answer each second whether they serve.
  for (let left_ms = ms; left_ms >= 0; left_ms -= 1000) {
    jest.advanceTimersByTime(Math.min(left_ms, 1000));
    await turns();
  }
};
/** What those that are there serve, by their numbers. */
const serving = () =>
  workers.flatMap(({ isGone, number, served }) => (isGone ? [] : [`${number} ${served.at(-1)}`]));
const said = (message: string) => captured.lines.filter(({ msg }) => msg === message);
const refuses = (worker: TestWorker, config: unknown) => {
  if (worker.number === '2' && config === 'bad') throw new Error('no such model');
};

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  workers = [];
  plans = {};
  captured = capturedLog();
});
afterEach(async () => {
  await pool.close({ unready_ms: 0, isReplaced: false }, 0);
  expect(jest.getTimerCount()).toBe(0);
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('a worker that ends', () => {
  it('is replaced after a wait that doubles up to ten seconds, and begins anew after one that lived for a minute', async () => {
    await open(spec(1, 'a'));
    const waits: unknown[] = [];
    for (const age_ms of [0, 59_999, 60_000, 0, 0, 0, 0, 0, 0, 0, 0]) {
      await pass(age_ms);
      workers.at(-1)!.exit(null, 'SIGKILL');
      await turns();
      const { restart_ms } = said('worker ended, another one is started').at(-1)!;
      waits.push(restart_ms);
      const { length } = workers;
      await pass((restart_ms as number) - 1);
      expect([workers.length, pool.ready]).toEqual([length, 0]);
      await pass(1);
      expect([workers.length, pool.ready]).toEqual([length + 1, 1]);
    }
    expect(waits).toEqual([100, 200, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    expect([known.numbers, known.size]).toEqual([[1], 1]);
  });

  it.each<[string, (worker: TestWorker) => unknown, string, number]>([
    [
      'at once with its own words',
      async worker => {
        await worker.channel.request('failed', 'the port is taken');
        worker.exit(1, null);
      },
      'the port is taken',
      1,
    ],
    [
      'after three in a row without any',
      worker => worker.exit(7, null),
      'no worker could be started: the last one exited with 7',
      3,
    ],
  ])('before any has served ends the start, %s', async (_, begin, message, starts) => {
    plans.begin = begin;
    const started = open(spec(1, 'a')).catch((thrown: Error) => thrown.message);
    for (let at = 0; at < 3; at++) await pass(400);
    expect([await started, workers.length]).toEqual([message, starts]);
  });

  it('keeps no start waiting once another serves, and is started again', async () => {
    plans.begin = worker => worker.number === '2' && workers.length < 3 && worker.exit(1, null);
    await open(spec(2, 'a'));
    expect([pool.ready, pool.url]).toEqual([1, 'http://127.0.0.1:9']);
    await pass(100);
    expect(serving()).toEqual(['1 a', '2 a']);
  });
});

describe('another configuration', () => {
  it('is served by all workers, until they go back', async () => {
    await open(spec(2, 'a'));
    const goBack = await pool.serve(spec(2, 'b'));
    expect(serving()).toEqual(['1 b', '2 b']);
    await goBack();
    expect(serving()).toEqual(['1 a', '2 a']);
    workers[0]!.exit(null, 'SIGKILL');
    await turns();
    await pass(100);
    expect(serving()).toEqual(['2 a', '1 a']);
  });

  it('that a worker refuses is served by none; one that cannot go back is replaced', async () => {
    await open(spec(3, 'a'));
    plans.reload = (worker, config) => {
      refuses(worker, config);
      if (worker.number === '3' && config === 'a') throw new Error('cannot go back');
    };
    await expect(pool.serve(spec(3, 'bad'))).rejects.toThrow('worker 2 refused it: no such model');
    await pass(100);
    expect(serving()).toEqual(['1 a', '2 a', '3 a']);
    expect(workers).toHaveLength(4);
  });

  it('is what a worker begins with that ends while it is asked', async () => {
    await open(spec(2, 'a'));
    plans.reload = worker => worker.number === '2' && worker.exit(null, 'SIGKILL');
    await pool.serve(spec(2, 'b'));
    await pass(100);
    expect(serving()).toEqual(['1 b', '2 b']);
  });

  it('ends a worker that has not answered after 30 seconds', async () => {
    await open(spec(2, 'a'));
    plans.reload = worker => worker.number === '2' && new Promise(() => {});
    const served = pool.serve(spec(2, 'b'));
    await pass(29_999);
    expect(workers[1]!.isGone).toBe(false);
    await pass(1);
    await served;
    await pass(100);
    expect(serving()).toEqual(['1 b', '2 b']);
  });

  it('and the one after it reach a worker that is being started before it counts as ready', async () => {
    const begun = Promise.withResolvers<void>();
    const reloading = Promise.withResolvers<void>();
    await open(spec(1, 'a'));
    plans = {
      begin: () => begun.promise,
      reload: (worker, config) => worker.number === '2' && config === 'b' && reloading.promise,
    };
    await pool.serve(spec(2, 'a'));
    await turns();
    await pool.serve(spec(2, 'b'));
    begun.resolve();
    await turns();
    await pool.serve(spec(2, 'c'));
    expect([pool.ready, pool.size]).toEqual([1, 2]);
    reloading.resolve();
    await turns();
    expect([pool.ready, workers[1]!.served]).toEqual([2, ['a', 'b', 'c']]);
  });

  it('ends the workers that are too many, and forgets the one that was to be started', async () => {
    await open(spec(3, 'a'));
    workers[2]!.exit(null, 'SIGKILL');
    await turns();
    await pool.serve(spec(1, 'a'));
    await pass(10_000);
    expect([serving(), workers.length, known.size]).toEqual([['1 a'], 3, 1]);
    expect(workers[1]!.closing).toEqual({ unready_ms: 0, isReplaced: true });
    await pool.serve(spec(2, 'b'));
    await turns();
    expect([serving(), known.size]).toEqual([['1 b', '2 b'], 2]);
  });
});

describe('another listener', () => {
  const listeners = () => workers.flatMap(({ isGone, listener }) => (isGone ? [] : [listener]));

  it('replaces the workers one after the other, each once another serves in its place', async () => {
    await open(spec(2, 'a'));
    const gates: PromiseWithResolvers<void>[] = [];
    plans.begin = () => gates[gates.push(Promise.withResolvers<void>()) - 1]!.promise;
    await pool.serve(spec(2, 'b', { port: 2 }));
    await turns();
    expect([listeners(), pool.ready]).toEqual([[{ port: 1 }, { port: 1 }, { port: 2 }], 2]);
    gates[0]!.resolve();
    await turns();
    expect([listeners(), pool.ready]).toEqual([[{ port: 1 }, { port: 2 }, { port: 2 }], 2]);
    expect(workers[0]!.closing).toEqual({ unready_ms: 0, isReplaced: true });
    gates[1]!.resolve();
    await turns();
    expect([listeners(), serving()]).toEqual([
      [{ port: 2 }, { port: 2 }],
      ['1 b', '2 b'],
    ]);
    expect(said('worker ended, another one is started')).toEqual([]);
  });

  it('is what a worker has that was to be started again, and no other is started for it', async () => {
    await open(spec(1, 'a'));
    workers[0]!.exit(null, 'SIGKILL');
    await turns();
    await pool.serve(spec(1, 'a', { port: 2 }));
    await turns();
    await pass(10_000);
    expect([listeners(), workers.length]).toEqual([[{ port: 2 }], 2]);
  });

  it('at which none can listen is given up: all keep the former one, and those that are started later have it', async () => {
    await open(spec(2, 'a'));
    plans.begin = worker => (worker.listener as { port: number }).port === 2 && worker.exit(1, null);
    await pool.serve(spec(2, 'b', { port: 2 }));
    await turns();
    expect([listeners(), serving()]).toEqual([
      [{ port: 1 }, { port: 1 }],
      ['1 b', '2 b'],
    ]);
    expect(said('a new worker could not start, the workers keep their former listener')).toHaveLength(1);
    workers[0]!.exit(null, 'SIGKILL');
    await turns();
    await pass(100);
    expect(listeners()).toEqual([{ port: 1 }, { port: 1 }]);
  });
});

it('counts a worker that does not answer as not ready after three seconds, and replaces it after fifteen', async () => {
  await open(spec(2, 'a'));
  await pass(30_000);
  expect([workers.length, pool.ready]).toEqual([2, 2]);
  workers[0]!.isHung = true;
  await pass(4000);
  expect(pool.ready).toBe(1);
  workers[0]!.isHung = false;
  await pass(11_000);
  expect(workers.map(({ isGone }) => isGone)).toEqual([false, false]);
  await pass(1000);
  expect(workers[0]!.isGone).toBe(true);
  expect(said('worker does not answer and is killed')).toMatchObject([{ worker: 1, pid: 1 }]);
  await pass(1000);
  expect([workers.length, pool.ready, serving()]).toEqual([3, 2, ['2 a', '1 a']]);
});

it('closes all workers, kills those that take too long, and starts none again', async () => {
  await open(spec(3, 'a'));
  const closing = { unready_ms: 5, isReplaced: false };
  workers[0]!.exit(null, 'SIGKILL');
  await turns();
  workers[2]!.channel.handle('close', () => {});
  const closed = pool.close(closing, 1000);
  await turns();
  expect(workers.map(({ isGone }) => isGone)).toEqual([true, true, false]);
  expect([workers[1]!.closing, jest.getTimerCount()]).toEqual([closing, 1]);
  await pass(999);
  expect(workers[2]!.isGone).toBe(false);
  await pass(1);
  await closed;
  await pass(10_000);
  expect([workers.length, known.numbers]).toEqual([3, []]);
});
