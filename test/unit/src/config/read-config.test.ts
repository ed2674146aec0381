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
