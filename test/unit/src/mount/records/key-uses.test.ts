import { expect, it } from '@jest/globals';
import { KeyUses } from '../../../../../src/mount/records/key-uses.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';

it('writes uses that could not be written again with the next ones, the newer of two', async () => {
  const written: Record<string, number>[] = [];
  let isOut = true;
  const used = async (times: ReadonlyMap<string, number>) => {
    if (isOut) throw new Error('out');
    written.push(Object.fromEntries(times));
  };
  const uses = new KeyUses({ used }, createLog('silent'));
  uses.note('a', 1);
  uses.note('b', 2);
  await uses.close();
  uses.note('a', 3);
  isOut = false;
  await uses.close();
  expect(written).toEqual([{ a: 3, b: 2 }]);
});

it('writes every use, of at most 500 keys at a time', async () => {
  const written: ReadonlyMap<string, number>[] = [];
  const used = async (times: ReadonlyMap<string, number>) => void written.push(times);
  const uses = new KeyUses({ used }, createLog('silent'));
  for (let at = 0; at < 1100; at++) uses.note(`${at}`, at);
  await uses.close();
  expect(written.map(({ size }) => size)).toEqual([500, 500, 100]);
  expect(new Set(written.flatMap(times => [...times.keys()])).size).toBe(1100);
});
