import { describe, expect, it } from '@jest/globals';
import { runRecipe } from '../support/recipes/recipe.ts';

/** `vllm serve MODEL --port N`, by the simulator. */
const vllm = 'exec sluice simulate --models "$2" "${@:3}"';

describe('a recipe for a model server', () => {
  it('puts sluice in front of vLLM', async () => {
    const { output } = await runRecipe('docs/how-to/vllm.md', { programs: { vllm } });
    expect(output).toContain('"id":"Qwen/Qwen3-8B"');
  });
});
