import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it, jest } from '@jest/globals';
import { StoreHealth } from '../../../../src/telemetry/store-health.ts';
import { until } from '../../../support/until.ts';

let up: Record<string, boolean>;
const healthWith = (forget_ms?: number) =>
  new StoreHealth<'read' | 'write'>(
    ['read', 'write'],
    (operation, isUp) => {
      up[operation] = isUp;
    },
    forget_ms,
  );
beforeEach(() => {
  up = {};
});

it('shows a failing write as down, however often reads succeed, until a write succeeds', () => {
  const health = healthWith();
  expect(up).toEqual({ read: true, write: true });
  for (let time = 0; time < 5; time++) {
    health.failed('write');
    health.succeeded('read');
    expect(up).toEqual({ read: true, write: false });
  }
  health.succeeded('write');
  expect(up).toEqual({ read: true, write: true });
});

it('forgets a failure that is not repeated, and not before its time has passed since the last one', async () => {
  const health = healthWith(50);
  health.failed('write');
  await sleep(20);
  const repeated_ms = performance.now();
  health.failed('write');
  await until(() => up.write === true);
  // Timers count whole milliseconds.
  expect(performance.now() - repeated_ms).toBeGreaterThan(48);
  health.failed('write');
  expect(up).toEqual({ read: true, write: false });
});

it('forgets a failure after a success no sooner than any other', () => {
  jest.useFakeTimers();
  try {
    const health = healthWith(50);
    health.failed('write');
    jest.advanceTimersByTime(40);
    health.succeeded('write');
    health.failed('write');
    jest.advanceTimersByTime(49);
    expect(up).toEqual({ read: true, write: false });
    jest.advanceTimersByTime(1);
    expect(up).toEqual({ read: true, write: true });
  } finally {
    jest.useRealTimers();
  }
});

it('shows every operation as down during an outage, and afterwards those that had failed', () => {
  const health = healthWith();
  health.failed('write');
  health.out(true);
  health.failed('read');
  health.succeeded('read');
  expect(up).toEqual({ read: false, write: false });
  health.out(false);
  expect(up).toEqual({ read: true, write: false });
});
