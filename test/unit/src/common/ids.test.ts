import { expect, it } from '@jest/globals';
import { timeOfUuid, timeOrderedUuid } from '../../../../src/common/ids.ts';

it.each([0, 1, 1_795_000_000_123, 2 ** 48 - 1])('reads from an id that it was made at %d', epoch_ms => {
  expect(timeOfUuid(timeOrderedUuid(epoch_ms))).toBe(epoch_ms);
});

it.each(['', 'req_1', 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6'])('knows no time of the id %j', id => {
  expect(timeOfUuid(id)).toBe(Number.POSITIVE_INFINITY);
});
