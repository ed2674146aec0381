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

it('holds 50,000 keys at most that wait, and goes on with those', async () => {
  const written = new Map<string, number>();
  const used = async (times: ReadonlyMap<string, number>) => {
    for (const [key, at] of times) written.set(key, at);
  };
  const uses = new KeyUses({ used }, createLog('silent'));
  for (let at = 0; at <= 50_000; at++) uses.note(`${at}`, 1);
  uses.note('7', 2);
  await uses.close();
  expect([written.size, written.get('7'), written.get('50000')]).toEqual([50_000, 2, undefined]);
});
