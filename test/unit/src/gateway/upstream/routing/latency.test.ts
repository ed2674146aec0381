import { expect, it } from '@jest/globals';
import { Latency } from '../../../../../../src/gateway/upstream/routing/upstream.ts';

it('is unknown before the first sample, and long after the last', () => {
  const latency = new Latency();
  expect(latency.recent_ms(0)).toBeUndefined();
  latency.observe(200, 1000);
  expect(latency.recent_ms(1000)).toBe(200);
  expect(latency.recent_ms(31_000)).toBe(200);
  expect(latency.recent_ms(31_001)).toBeUndefined();
});

it('decays with time, not with the number of samples', () => {
  const [few, many] = [new Latency(), new Latency()];
  for (const latency of [few, many]) latency.observe(100, 0);
  for (let now_ms = 1000; now_ms <= 10_000; now_ms += 1000) few.observe(500, now_ms);
  for (let now_ms = 10; now_ms <= 10_000; now_ms += 10) many.observe(500, now_ms);
  // A third of the old is left after ten seconds.
  expect(few.recent_ms(10_000)).toBeCloseTo(500 - 400 / Math.E, 0);
  expect(many.recent_ms(10_000)).toBeCloseTo(500 - 400 / Math.E, 0);
});

it('starts anew with a sample after a long pause', () => {
  const latency = new Latency();
  latency.observe(100, 0);
  latency.observe(900, 100_000);
  expect(latency.recent_ms(100_000)).toBe(900);
});
