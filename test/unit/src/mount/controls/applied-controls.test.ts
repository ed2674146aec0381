import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { AppliedControls } from '../../../../../src/mount/controls/applied-controls.ts';
import type { ProviderControl } from '../../../../../src/records/provider-controls.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const { log, lines } = capturedLog();
let clock: FakeClock;
let controls: AppliedControls;
let changes: number;
beforeEach(() => {
  jest.useFakeTimers();
  lines.length = 0;
  clock = new FakeClock();
  controls = new AppliedControls(clock, log);
  changes = 0;
  controls.onChange = () => void changes++;
});
afterEach(() => {
  controls.close();
  jest.useRealTimers();
});

const record = (more: Partial<ProviderControl> = {}): ProviderControl => ({
  provider: 'a',
  state: 'paused',
  weight: null,
  until_ms: null,
  reason: '',
  actor: 'cli:alice',
  at_ms: clock.epoch_ms(),
  ...more,
});
const pass = (ms: number) => {
  // By the hour: a clock that is ahead of the timers by weeks would let one fire all the while.
  for (let left_ms = ms; left_ms > 0; left_ms -= 3_600_000) {
    const step_ms = Math.min(left_ms, 3_600_000);
    clock.advance(step_ms);
    jest.advanceTimersByTime(step_ms);
  }
};

it('follows what is set, and tells it once', () => {
  expect(controls.areKnown).toBe(false);
  controls.apply([]);
  expect([controls.areKnown, changes]).toEqual([true, 0]);
  controls.apply([record({ reason: 'billing' })]);
  controls.apply([record({ reason: 'billing' })]);
  expect([controls.stateOf('a'), controls.stateOf('b'), changes]).toEqual(['paused', 'active', 1]);
  controls.apply([]);
  expect([controls.stateOf('a'), changes]).toEqual(['active', 2]);
  expect(lines).toMatchObject([
    { provider: 'a', state: 'paused', reason: 'billing', actor: 'cli:alice' },
    { provider: 'a', msg: 'provider is as configured again' },
  ]);
});

it('lets each end by itself, also after a longer time than a timer takes', () => {
  const day_ms = 86_400_000;
  const now_ms = clock.epoch_ms();
  controls.apply([
    record({ until_ms: now_ms + 1500 }),
    record({ provider: 'b', until_ms: now_ms + 40 * day_ms }),
    record({ provider: 'c', until_ms: now_ms - 1 }),
  ]);
  expect([...controls.current.keys()]).toEqual(['a', 'b']);
  pass(1499);
  expect(controls.stateOf('a')).toBe('paused');
  pass(1);
  expect(controls.stateOf('a')).toBe('active');
  pass(40 * day_ms - 2000);
  expect(controls.stateOf('b')).toBe('paused');
  pass(500);
  expect([controls.stateOf('b'), changes]).toEqual(['active', 3]);
  expect(jest.getTimerCount()).toBe(0);
});

it('drains by a weight of 0, and takes any other in place of the configured ones', () => {
  controls.apply([
    record({ state: 'active', weight: 0 }),
    record({ provider: 'b', state: 'active', weight: 2.5 }),
  ]);
  expect(controls.current.get('a')).toMatchObject({ state: 'draining' });
  expect(controls.current.get('b')).toMatchObject({ state: 'active', weight: 2.5 });
});

it('knows the conversations of a drain whose end or reason changes, and none of another one', () => {
  controls.apply([record({ state: 'draining' })]);
  const { keeps } = controls.current.get('a')!;
  expect(keeps!(1, true)).toBe(true);
  const begun_ms = clock.epoch_ms();
  pass(90_000);
  controls.apply([record({ state: 'draining', reason: 'still', at_ms: clock.epoch_ms() })]);
  expect(controls.current.get('a')!.keeps!(1, true)).toBe(true);
  expect(controls.current.get('a')!.keeps!(2, true)).toBe(false);
  controls.apply([record()]);
  controls.apply([record({ state: 'draining', at_ms: begun_ms })]);
  expect(controls.current.get('a')!.keeps!(1, true)).toBe(false);
});
