import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { slotOf } from '../../../../../../src/stores/limits/redis/key-slot.ts';
import { type RedisServer, startRedis } from '../../../../../support/redis-server.ts';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis({ args: ['--cluster-enabled', 'yes'] });
});
afterAll(() => redis?.stop());

it('finds the slot that a cluster does, of any key', async () => {
  const part = fc.oneof(fc.constantFrom('{', '}', '{}', 'a'), fc.string({ unit: 'grapheme' }));
  const key = fc.array(part, { minLength: 1, maxLength: 5 }).map(parts => parts.join(''));
  await fc.assert(
    fc.asyncProperty(key, async text => {
      // An argument of a program has no NUL, and is UTF-8.
      fc.pre(!text.includes('\0') && text.isWellFormed() && text !== '');
      expect(slotOf(text)).toBe(Number(await redis.cli('CLUSTER', 'KEYSLOT', text)));
    }),
    { numRuns: 100, examples: [['{}a'], ['a{}{b}'], ['sluice:{demo}:x'], ['}{'], ['{a']] },
  );
});
