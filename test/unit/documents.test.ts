import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { builtInStages } from '../../plugins/index.ts';
import { configJsonSchema } from '../../src/config/json-schema.ts';
import { tableNames, withTables } from '../support/documents/tables.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const docs = globSync('docs/*.md', { cwd: root });
const texts = docs.map(read);

describe('the documents', () => {
  it.each(docs)('have in %s the tables that the schemas and the catalog generate (npm run docs)', page => {
    expect(withTables(read(page))).toBe(read(page));
  });

  it.each(tableNames)('contain the generated table %s once', name => {
    expect(texts.flatMap(text => text.split(`<!-- table: ${name} -->`).slice(1))).toHaveLength(1);
  });

  it('describe every option', () => {
    const rows = texts.flatMap(text => text.split('\n'));
    expect(rows.filter(line => /^\| `[a-z_0-9]+` \|.*\|\s+\|$/.test(line))).toEqual([]);
  });

  it('list the built-in stages with their hooks', () => {
    for (const { stageName } of builtInStages)
      expect(read('docs/stages.md')).toMatch(new RegExp(`^\\| \`${stageName}\` \\| on`, 'm'));
  });

  it('begin with a README that links to every page', () => {
    expect(docs.filter(page => !read('README.md').includes(`](${page})`))).toEqual([]);
  });

  it('have the JSON Schema that the configuration generates (npm run docs)', () => {
    expect(JSON.parse(read('sluice.schema.json'))).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });
});
