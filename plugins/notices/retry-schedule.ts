import { hour_ms } from '../../src/plugin.ts';

/** When a delivery is tried again. */
export interface RetrySchedule {
  readonly retry_ms: number;
  readonly retry_for_ms: number;
}

/**
 * Milliseconds until the attempt behind `attempts` of them: `retry_ms`, doubled each time up to an hour, half of it at random (`random` is
 * from 0 to 1). Undefined once the notice is `retry_for_ms` old.
 */
export function retryDelay_ms(
  { retry_ms, retry_for_ms }: RetrySchedule,
  attempts: number,
  age_ms: number,
  random: number,
): number | undefined {
  const whole_ms = Math.min(retry_ms * 2 ** Math.min(attempts - 1, 30), hour_ms);
  const delay_ms = Math.round(whole_ms * (0.5 + random / 2));
  return age_ms + delay_ms > retry_for_ms ? undefined : delay_ms;
}
