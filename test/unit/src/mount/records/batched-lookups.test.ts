import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { BatchedLookups } from '../../../../../src/mount/records/batched-lookups.ts';
import { StoreUnavailable } from '../../../../../src/records/record-errors.ts';

let queries: { names: readonly string[]; answer(found: readonly string[]): void; fail(): void }[];
let lookups: BatchedLookups<string>;
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  queries = [];
  lookups = new BatchedLookups(names => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    queries.push({ names, answer: resolve, fail: () => reject(new Error('the store is out')) });
    return promise;
  }, 2);
});
afterEach(() => void jest.useRealTimers());
const turn = () => new Promise(setImmediate);

it('asks for all names that came meanwhile with the next query, so many at a time and each once', async () => {
  const found = Promise.all(['a', 'b', 'c', 'b', 'd'].map(name => lookups.find(name)));
  for (const at of [0, 1, 2]) {
    expect(queries).toHaveLength(at + 1);
    queries[at]!.answer(queries[at]!.names.map(name => name.toUpperCase()));
    await turn();
  }
  expect(queries.map(({ names }) => names)).toEqual([['a'], ['b', 'c'], ['d']]);
  expect(await found).toEqual(['A', 'B', 'C', 'B', 'D']);
});

it('fails all that wait when a query fails, and asks for nothing in the second after it', async () => {
  const failed = Promise.allSettled(['a', 'b', 'c', 'd'].map(name => lookups.find(name)));
  queries[0]!.fail();
  const reason = new Error('the store is out');
  expect(await failed).toEqual(Array(4).fill({ status: 'rejected', reason }));
  jest.advanceTimersByTime(999);
  await expect(lookups.find('a')).rejects.toThrow('the store is out');
  expect(queries).toHaveLength(1);
  jest.advanceTimersByTime(1);
  const again = lookups.find('a');
  queries[1]!.answer(['A']);
  expect(await again).toBe('A');
});

it('lets 5000 names wait at most', async () => {
  const waiting = Array.from({ length: 5001 }, (_, at) => lookups.find(`${at}`));
  await expect(lookups.find('too much')).rejects.toThrow(StoreUnavailable);
  void lookups.find('5000');
  queries[0]!.fail();
  expect((await Promise.allSettled(waiting)).filter(({ status }) => status === 'rejected')).toHaveLength(
    5001,
  );
});
