import { beforeEach, expect, it } from '@jest/globals';
import { DrainedConversations } from '../../../../../src/mount/controls/drained-conversations.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

let clock: FakeClock;
let drained: DrainedConversations;
beforeEach(() => {
  clock = new FakeClock();
  drained = new DrainedConversations(clock, clock.epoch_ms());
});

const minute_ms = 60_000;

it('keeps conversations that go on in the first minute, as long as they go on', () => {
  expect(drained.keeps(1, true)).toBe(true);
  for (let turns = 0; turns < 5; turns++) {
    clock.advance(4 * minute_ms);
    expect(drained.keeps(1, true)).toBe(true);
  }
  clock.advance(5 * minute_ms);
  expect(drained.keeps(1, true)).toBe(false);
  expect(drained.keeps(1, true)).toBe(false);
});

it('keeps none that begins, also not when it goes on', () => {
  expect(drained.keeps(1, false)).toBe(false);
  expect(drained.keeps(1, true)).toBe(false);
});

it('finds none after a minute', () => {
  clock.advance(minute_ms);
  expect(drained.keeps(1, true)).toBe(false);
});
