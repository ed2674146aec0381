import { beforeEach, expect, it } from '@jest/globals';
import { StoreHealth } from '../../../../src/telemetry/store-health.ts';

let up: Record<string, boolean>;
let health: StoreHealth<'read' | 'write'>;
beforeEach(() => {
  up = {};
  health = new StoreHealth(['read', 'write'], (operation, isUp) => {
    up[operation] = isUp;
  });
});

it('shows a failing write as down, however often reads succeed, while its failure is repeated', () => {
  for (let now_ms = 0; now_ms < 600_000; now_ms += 40_000) {
    health.failed('write', now_ms);
    health.succeeded('read', now_ms + 1);
    expect(up).toEqual({ read: true, write: false });
  }
  health.succeeded('write', 600_000);
  expect(up).toEqual({ read: true, write: true });
});

it('forgets a failure that is not repeated for 45 s once the store answers, and not before', () => {
  health.failed('write', 0);
  health.succeeded('read', 44_999);
  expect(up.write).toBe(false);
  health.failed('read', 50_000);
  expect(up).toEqual({ read: false, write: false });
  health.succeeded('read', 50_001);
  expect(up).toEqual({ read: true, write: true });
});

it('shows every operation as down during an outage, and afterwards those that had failed', () => {
  health.failed('write', 0);
  health.out(true);
  expect(up).toEqual({ read: false, write: false });
  health.out(false);
  expect(up).toEqual({ read: true, write: false });
});
