import { expect, it } from '@jest/globals';
import { growthOf, isGrown } from '../../../tools/bench/regression-verdict.ts';
import { sampleEntry } from './sample-entry.ts';

const pairOf = (now: readonly number[], released: readonly number[]) => ({
  name: 'sidecar' as const,
  now: sampleEntry('sluice', now),
  released: sampleEntry('sluice-against', released),
});

it('finds a rung that takes a third more CPU in most rounds grown', () => {
  const pair = pairOf([133, 266, 133], [100, 200, 100]);
  expect(growthOf(pair).ratio).toBeCloseTo(1.33);
  expect(isGrown(pair)).toBe(true);
});

it('lets a rung pass that was disturbed in few rounds, or was as slow before', () => {
  expect(isGrown(pairOf([100, 300, 110], [100, 100, 100]))).toBe(false);
  expect(isGrown(pairOf([300, 300, 300], [290, 310, 300]))).toBe(false);
});
