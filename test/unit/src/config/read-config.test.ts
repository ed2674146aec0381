import { describe, expect, it } from '@jest/globals';
import { readConfig } from '../../../../src/config/read-config.ts';
import { costGrowth, most_growth } from '../../../support/cost-growth.ts';
import { temporaryFiles } from './sample-config.ts';

const file = temporaryFiles();

describe('reading a file', () => {
  it('takes a time in proportion to the names in a map', async () => {
    const growth = await costGrowth(names => {
      const lines = Array.from({ length: names }, (_, at) => `  customer-${at}: { plan: free }\n`);
      const path = file(`${names}.yaml`, `accounts:\n${lines.join('')}`);
      return () => readConfig(path);
    }, 500);
    expect(growth).toBeLessThan(most_growth);
  });
});

describe('the source of a value', () => {
  const yaml = `limits: &usual
  prompt: '1'
models:
  - id: a/b
    pricing: *usual
`;

  it('is its line in the file, also behind an alias, or else the default', () => {
    const path = file('places.yaml', yaml);
    const { sourceOf } = readConfig(path);
    expect(sourceOf(['models', 0, 'id'])).toEqual({ file: path, line: 4 });
    expect(sourceOf(['models', 0, 'pricing', 'prompt'])).toEqual({ file: path, line: 5 });
    for (const missing of [
      ['models', 0, 'name'],
      ['models', 1],
      ['models', 0, 'id', 'length'],
    ])
      expect(sourceOf(missing)).toBe('default');
  });

  it('is the code for a value that is given there', () => {
    const { sourceOf } = readConfig({ models: [{ id: 'a/b' }] });
    expect([sourceOf(['models', 0, 'id']), sourceOf(['models', 0, 'name'])]).toEqual(['code', 'default']);
  });
});
