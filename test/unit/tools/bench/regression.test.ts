import { expect, it } from '@jest/globals';
import { growthOf } from '../../../tools/bench/regression.ts';

/** What was measured of a sidecar that took so many µs of CPU per request in each round. */
const measured = (rounds: readonly number[]) => ({
  requests: rounds.map(us => ({ count: 1000, seconds: 1, cpu_s: us / 1000, load_cpu_s: 0.5 })),
});

it.each([
  ['a third more in most rounds', [133, 266, 133], [100, 200, 100], true],
  ['more only in rounds that were disturbed', [100, 300, 110], [100, 100, 100], false],
  ['much, but as much before', [300, 300, 300], [290, 310, 300], false],
])('judges CPU of a sidecar that takes %s', (_, now, released, isGrown) => {
  const pair = { name: 'sidecar', now: measured(now), released: measured(released) };
  expect(growthOf(pair).isGrown).toBe(isGrown);
});
