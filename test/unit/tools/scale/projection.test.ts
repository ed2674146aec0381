import { describe, expect, it } from '@jest/globals';
import { projectionOf, type UnitCosts } from '../../../tools/scale/projection.ts';

const costs: UnitCosts = {
  redis_calls_per_exchange: 4,
  redis_us_per_call: 30,
  redis_bytes_per_open: 200,
  postgres_us_per_row: 100,
  postgres_bytes_per_row: 1000,
  cpu_us_per_event: 50,
  cpu_us_per_request: 1000,
  bytes_per_stream: 1000,
};

describe('the figures of scale', () => {
  it('grow with streams as one would reckon by hand', () => {
    const load = { streams: 6000, tokens_per_second: 10, seconds_per_stream: 60, accounts: 1_000_000 };
    const projected = projectionOf(load, costs);
    // 3 s of events and 0.1 s of requests in each second, on cores used to 60 %.
    expect(projected).toMatchObject({
      requests_per_second: 100,
      events_per_second: 60_000,
      instances: 6,
      reservation_calls: 400,
      heartbeat_calls: expect.closeTo(1.2),
      rows_per_day: 8_640_000,
      postgres_bytes_per_day: 8_640_000_000,
      postgres_cores: 1,
      redis_servers: 1,
    });
    // Hardly any account has two streams at one instance.
    expect(projected.renewal_calls).toBeGreaterThan(1190);
    expect(projected.renewal_calls).toBeLessThanOrEqual(1200);
    expect(projectionOf({ ...load, accounts: 1 }, costs).renewal_calls).toBeCloseTo(6 / 5);
  });
});
