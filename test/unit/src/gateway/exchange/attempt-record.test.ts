import { expect, it } from '@jest/globals';
import type { Clock } from '../../../../../src/common/clock.ts';
import { RunningAttempt } from '../../../../../src/gateway/exchange/attempt-record.ts';

it('keeps the times of an attempt from its request on, its first token and its first end', () => {
  let now_ms = 130;
  const clock = { elapsed_ms: () => now_ms } as Clock;
  const attempt = new RunningAttempt(clock, 100, { provider: 'p', wait_ms: 20 });
  now_ms = 135;
  attempt.firstToken();
  now_ms = 140;
  attempt.firstToken();
  expect(attempt).toMatchObject({ offset_ms: 30, wait_ms: 20, first_token_ms: 5, duration_ms: undefined });
  attempt.ended('failed', 'timeout', 'too slow');
  now_ms = 150;
  attempt.ended('aborted');
  expect(attempt).toMatchObject({ outcome: 'failed', error_message: 'too slow', duration_ms: 10 });
  expect(attempt.error_type).toBe('timeout');
  const other = new RunningAttempt(clock, 150);
  other.ended('aborted', 'timeout');
  expect([other.wait_ms, other.error_type]).toEqual([0, 'aborted']);
});
