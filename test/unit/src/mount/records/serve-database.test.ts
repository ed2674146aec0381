import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { channelDatabase } from '../../../../../src/mount/records/channel-database.ts';
import { serveDatabase } from '../../../../../src/mount/records/serve-database.ts';
import { Channel } from '../../../../../src/mount/workers/channel.ts';
import type { Database } from '../../../../../src/records/database.ts';
import { StoreUnavailable } from '../../../../../src/records/record-errors.ts';
import { sqliteInMemory } from '../../../../../src/records/sqlite/sqlite.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function opened() {
  const own = sqliteInMemory();
  await own.transaction(({ run }) => run('CREATE TABLE numbers (number INTEGER NOT NULL)'));
  const worker = () => {
    const { port1, port2 } = new MessageChannel();
    serveDatabase(new Channel(port2), own);
    closing.push(() => port1.close());
    return { database: channelDatabase(new Channel(port1)), kill: () => port1.close() };
  };
  closing.push(() => own.close());
  return { own, worker };
}
const insert = (database: Database, number: number) =>
  database.transaction(({ run }) => run('INSERT INTO numbers VALUES (?)', [number]));
const numbersIn = async (database: Database) =>
  (await database.run<{ number: number }>('SELECT number FROM numbers ORDER BY number')).map(
    ({ number }) => number,
  );

describe('the database of a primary process', () => {
  it('takes transactions of several workers one after the other', async () => {
    const { own, worker } = await opened();
    const [one, other] = [worker(), worker()];
    await Promise.all([insert(one.database, 1), insert(other.database, 2), insert(own, 3)]);
    expect(await numbersIn(other.database)).toEqual([1, 2, 3]);
  });

  it('undoes a transaction whose work throws', async () => {
    const { worker } = await opened();
    const { database } = worker();
    const failed = database.transaction(async ({ run }) => {
      await run('INSERT INTO numbers VALUES (?)', [1]);
      throw new Error('changed its mind');
    });
    await expect(failed).rejects.toThrow('changed its mind');
    expect(await numbersIn(database)).toEqual([]);
  });

  it('undoes the transaction of a worker that ends, and goes on with the next', async () => {
    const { own, worker } = await opened();
    const { database, kill } = worker();
    const failed = database.transaction(async ({ run }) => {
      await run('INSERT INTO numbers VALUES (?)', [1]);
      kill();
      await run('INSERT INTO numbers VALUES (?)', [2]);
    });
    await expect(failed).rejects.toThrow(StoreUnavailable);
    await insert(own, 3);
    expect(await numbersIn(own)).toEqual([3]);
  });

  it('undoes a transaction that does nothing for five seconds, and goes on with the next', async () => {
    const { own, worker } = await opened();
    const { database } = worker();
    let ran = 0;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const failed = database.transaction(async ({ run }) => {
        for (const number of [1, 2, 3]) {
          await run('INSERT INTO numbers VALUES (?)', [number]);
          ran++;
          jest.advanceTimersByTime(4999);
        }
        jest.advanceTimersByTime(1);
        await run('INSERT INTO numbers VALUES (?)', [4]);
      });
      await expect(failed).rejects.toThrow('a transaction was cut off');
    } finally {
      jest.useRealTimers();
    }
    await insert(own, 5);
    expect([ran, await numbersIn(own)]).toEqual([3, [5]]);
  });

  it('is unavailable for a worker whose primary has ended', async () => {
    const { worker } = await opened();
    const { database, kill } = worker();
    kill();
    await expect(database.run('SELECT 1')).rejects.toThrow(StoreUnavailable);
    await expect(insert(database, 1)).rejects.toThrow(StoreUnavailable);
  });
});
