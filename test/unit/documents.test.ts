import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { builtInStages } from '../../plugins/index.ts';
import { configJsonSchema } from '../../src/config/json-schema.ts';
import { tableNames, withTables } from '../support/readme-tables.ts';

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const readme = read('README.md');

describe('the documents', () => {
  it('have the tables of options and errors that the schemas and the catalog generate (npm run docs)', () => {
    expect(withTables(readme)).toBe(readme);
  });

  it.each(tableNames)('contain the generated table %s', name => {
    expect(readme).toContain(`<!-- table: ${name} -->`);
  });

  it('describe every option', () => {
    const undescribed = readme.split('\n').filter(line => /^\| `[a-z_0-9]+` \|.*\|\s+\|$/.test(line));
    expect(undescribed).toEqual([]);
  });

  it('list the built-in stages with their hooks', () => {
    for (const { stageName } of builtInStages)
      expect(readme).toMatch(new RegExp(`^\\| \`${stageName}\` \\| on`, 'm'));
  });

  it('have the JSON Schema that the configuration generates (npm run docs)', () => {
    expect(JSON.parse(read('sluice.schema.json'))).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });
});
