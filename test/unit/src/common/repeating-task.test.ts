import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { RepeatingTask } from '../../../../src/common/repeating-task.ts';

let runs: PromiseWithResolvers<number | undefined>[];
let task: RepeatingTask;

beforeEach(() => {
  jest.useFakeTimers();
  runs = [];
  task = new RepeatingTask(() => {
    const run = Promise.withResolvers<number | undefined>();
    runs.push(run);
    return run.promise;
  });
});
afterEach(() => {
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const end = async (wait_ms?: number) => {
  runs.at(-1)!.resolve(wait_ms);
  await pass(0);
};

it('runs at the earliest time that was asked for, and then after the wait that the run returned', async () => {
  task.runIn(500);
  task.runIn(100);
  task.runIn(300);
  await pass(99);
  expect(runs).toHaveLength(0);
  await pass(1);
  expect(runs).toHaveLength(1);
  await end(1000);
  await pass(999);
  expect(runs).toHaveLength(1);
  await pass(1);
  expect(runs).toHaveLength(2);
  await end();
  await pass(60_000);
  expect(runs).toHaveLength(2);
});

it('runs once more after a run during which it was asked for', async () => {
  void task.run();
  void task.run();
  task.runIn(0);
  await pass(1000);
  expect(runs).toHaveLength(1);
  expect(task.isRunning).toBe(true);
  await end();
  await pass(1);
  expect(runs).toHaveLength(2);
});

it('waits for the run in progress when it is closed, and then runs only when told to', async () => {
  const running = task.run();
  task.runIn(10);
  let isClosed = false;
  const closed = task.close().then(() => (isClosed = true));
  await pass(0);
  expect(isClosed).toBe(false);
  await end(5);
  await Promise.all([running, closed]);
  task.runIn(10);
  await pass(60_000);
  expect([runs.length, jest.getTimerCount()]).toEqual([1, 0]);
  void task.run();
  expect(runs).toHaveLength(2);
});
