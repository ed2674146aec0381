import { expect, it } from '@jest/globals';
import { KnownUse } from '../../../../../src/mount/state/known-use.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { limit } from '../../../../support/state-store-contract.ts';

const minute = limit('requests_per_minute', 10);
const daily = limit('tokens_per_day', 100);

it('is the use at the last answer, limit by limit, until its window has ended', () => {
  const clock = new FakeClock();
  const known = new KnownUse(clock);
  known.note('a', { limit: minute, remaining: 4, reset_ms: 1000 }, 2);
  known.note('a', { limit: daily, remaining: 90, reset_ms: 5000 });
  known.note('a', { limit: daily, remaining: 70, reset_ms: 5000 });
  expect(known.of('a', minute)).toMatchObject({ used: 6, own: 2 });
  expect(known.of('b', minute)).toBeUndefined();
  clock.advance(999);
  expect(known.statuses('a', [daily, minute])).toEqual([
    { limit: daily, remaining: 70, reset_ms: 4001 },
    { limit: minute, remaining: 4, reset_ms: 1 },
  ]);
  clock.advance(1);
  expect(known.statuses('a', [daily, minute]).map(({ limit }) => limit)).toEqual([daily]);
  expect(known.statuses('a', [{ ...daily, max: 20 }])[0]!.remaining).toBe(0);
});

it('is apart for limits of keys, which other accounts do not have', () => {
  const known = new KnownUse(new FakeClock());
  const ofKey = { ...minute, key: 'k1' };
  known.note('a', { limit: ofKey, remaining: 3, reset_ms: 1000 });
  expect([
    known.of('a', ofKey)?.used,
    known.of('a', minute),
    known.of('a', { ...minute, key: 'k2' }),
  ]).toEqual([7, undefined, undefined]);
});
