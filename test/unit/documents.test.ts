import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { builtInStages } from '../../plugins/index.ts';
import { configJsonSchema } from '../../src/config/json-schema.ts';
import { tableNames, withTables } from '../support/readme-tables.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const readme = read('README.md');
const pages = ['README.md', 'grafana/README.md', ...globSync('docs/*.md', { cwd: root })];

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

  it.each(pages)('have no sentence of more than 30 words in %s', page => {
    expect(sentences(read(page)).filter(sentence => sentence.split(/\s+/).length > 30)).toEqual([]);
  });

  it('have the JSON Schema that the configuration generates (npm run docs)', () => {
    expect(JSON.parse(read('sluice.schema.json'))).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });
});

/** Prose only: without code blocks, tables and what stands in parentheses. A bullet is a paragraph of its own. */
function sentences(markdown: string): string[] {
  return markdown
    .replace(/```[\s\S]*?```|^\s*\|.*$|\([^)]*\)/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) |#)/)
    .flatMap(paragraph => paragraph.split(/(?<=[.!?;])\s+|: /))
    .map(sentence => sentence.trim());
}
