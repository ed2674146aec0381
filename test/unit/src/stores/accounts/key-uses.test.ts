import { expect, it } from '@jest/globals';
import { KeyUses } from '../../../../../src/stores/accounts/key-uses.ts';
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
