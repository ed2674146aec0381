import { expect, it } from '@jest/globals';
import { runRecipe } from '../support/recipes/recipe.ts';

it('the recipe for benchmarks prints the rate and the times of both, and the CPU of sluice', async () => {
  const { output } = await runRecipe('docs/how-to/benchmark.md');
  const rates = [...output.matchAll(/: (\d+) requests\/s, p50 \d+\.\d ms, p99 \d+\.\d ms/g)];
  expect(rates).toHaveLength(7);
  expect(rates.map(([, rate]) => Number(rate)).filter(rate => rate < 10)).toEqual([]);
  const seconds = [...output.matchAll(/CPU seconds of sluice: (\d\.\d+)/g)].map(([, used]) => Number(used));
  expect(seconds).toHaveLength(3);
  expect(seconds.filter(used => used === 0)).toEqual([]);
});
