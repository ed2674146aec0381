import { describe, expect, it } from '@jest/globals';
import { runRecipe } from '../support/recipes/recipe.ts';

describe('the tutorial', () => {
  it('leads from a server to a streamed answer, a plan, a customer with a limit and its usage', async () => {
    const { output } = await runRecipe('docs/tutorial.md');
    const lines = output.split('\n');
    expect(lines.filter(line => line.startsWith('data: {')).length).toBeGreaterThan(10);
    expect(lines.filter(line => line.startsWith('request '))).toEqual([
      'request 1: 200',
      'request 2: 200',
      'request 3: 200',
      'request 4: 429',
    ]);
    expect(output).toMatch(/^acme .*0\.0000\d+/m);
    expect(output).toMatch(/^me .*0\.0000\d+/m);
    expect(output).toMatch(/^sluice_requests_total\{.*status="429".*\} 1$/m);
  });
});
