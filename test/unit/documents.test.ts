import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { builtInStages, defaultStages } from '../../plugins/index.ts';
import { presets } from '../../plugins/providers/presets/table.ts';
import { builtInProviders } from '../../plugins/providers.ts';
import { blocksOf, documents, read, root } from '../support/documents/blocks.ts';
import { anchorsOf, brokenLinks } from '../support/documents/links.ts';
import { pagesWithTables, tableNames, withTables } from '../support/documents/tables.ts';
import { sampleSetup } from './sample-setup.ts';

const docs = documents.filter(page => page.startsWith('docs/'));
const recipes = docs.filter(page => page.startsWith('docs/how-to/') || page === 'docs/tutorial.md');
const texts = pagesWithTables.map(read);

describe('the documents', () => {
  it.each(pagesWithTables)(
    'have in %s the tables that the schemas and the catalog generate (npm run docs)',
    page => {
      expect(withTables(read(page))).toBe(read(page));
    },
  );

  it.each(tableNames)('contain the generated table %s once', name => {
    expect(texts.flatMap(text => text.split(`<!-- table: ${name} -->`).slice(1))).toHaveLength(1);
  });

  it('describe every option', () => {
    const rows = docs.flatMap(page => read(page).split('\n'));
    expect(rows.filter(line => /^\| `[a-z_0-9]+` \|.*\|\s+\|$/.test(line))).toEqual([]);
  });

  it('list the built-in stages with their hooks, and which are the default chain', () => {
    const rows = [
      ...read('docs/reference/stages.md').matchAll(/^\| `([\w-]+)` \| (on[\w, ]+) \| (.*?) ?\|/gm),
    ];
    const listed = rows.map(([, name, hooks, byDefault]) => [
      name,
      hooks!.split(', ').toSorted(),
      byDefault === 'yes',
    ]);
    const existing = builtInStages.map(stage => {
      const created = stage({} as never).plan.create(sampleSetup());
      const hooks = Object.keys(created).filter(key => /^on[A-Z]/.test(key));
      return [stage.stageName, hooks.toSorted(), defaultStages.includes(stage)];
    });
    expect(listed.toSorted()).toEqual(existing.toSorted());
    expect(listed.filter(([, , isDefault]) => isDefault).map(([name]) => name)).toEqual(
      defaultStages.map(({ stageName }) => stageName),
    );
  });

  it('list the adapters that are no presets', () => {
    const [, table = ''] = /## Adapters\n([\s\S]*?)\n## /.exec(read('docs/reference/providers.md')) ?? [];
    const listed = [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
    const names = builtInProviders.map(({ name }) => name);
    const others = names.filter(name => !presets.some(preset => preset.name === name));
    expect(listed.toSorted()).toEqual(others.toSorted());
  });

  it('list the options that a reload does not change', () => {
    const [, table = ''] =
      /## What a reload changes\n([\s\S]*?)\n## /.exec(read('docs/reference/running.md')) ?? [];
    const listed = [...table.matchAll(/`(\w+\.\w+)`/g)].map(([, name]) => name);
    const code = read('src/mount/reload.ts');
    const fixed = [...code.matchAll(/\['(\w+)', '(\w+)'\]/g)].map(
      ([, section, option]) => `${section}.${option}`,
    );
    expect(fixed.length).toBeGreaterThan(8);
    expect([...new Set(listed)].toSorted()).toEqual(fixed.toSorted());
  });

  it('begin with a page that links to every other', () => {
    const index = read('docs/README.md');
    const others = docs.map(page => page.replace('docs/', '')).filter(page => page !== 'README.md');
    expect(others.filter(page => !index.includes(`](${page})`))).toEqual([]);
  });

  it('have recipes that a test runs', () => {
    const tests = globSync('test/e2e/recipes-*.test.ts', { cwd: root }).map(read).join('\n');
    expect(recipes.filter(page => !tests.includes(`'${page}'`))).toEqual([]);
  });

  it('have recipes of at most 80 lines', () => {
    const pages = recipes.filter(page => page !== 'docs/tutorial.md');
    expect(pages.filter(page => read(page).trimEnd().split('\n').length > 80)).toEqual([]);
  });

  it('have recipes whose blocks are commands, files or what is printed', () => {
    const blocks = recipes.flatMap(page => blocksOf(page, read(page)));
    const others = blocks.filter(
      ({ language, file }) => !['sh', 'text', 'json', 'http'].includes(language) && file === undefined,
    );
    expect(others.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
  });
});

const written = [...documents, ...globSync('{CHANGELOG,SECURITY}.md', { cwd: root })];

describe('the links of the documents', () => {
  it('lead to files and headings that exist', () => {
    expect(written.flatMap(document => brokenLinks(document))).toEqual([]);
  });

  it('are checked: a link that leads nowhere is reported at its line', () => {
    const text =
      '# One\n\n[a](#one) [b](#two) [c](docs/gone.md)\n\n[d](README.md#gone) `[e](no-link.md)` <img src="gone.png">\n';
    expect(brokenLinks('sample.md', text)).toEqual([
      'sample.md:3: #two, no such heading',
      'sample.md:3: docs/gone.md, no such file',
      'sample.md:5: README.md#gone, no such heading',
      'sample.md:5: gone.png, no such file',
    ]);
  });

  it('exist wherever the code, its messages and the alerts name a page', () => {
    const files = globSync('{src,plugins,grafana,examples,bin}/**/*.{ts,js,cjs,yaml,json}', { cwd: root });
    const named = files.flatMap(file =>
      [...read(file).matchAll(/(?<![\w/])docs\/[\w/-]+\.md(?:#([\w-]+))?/g)].map(([target, anchor]) => ({
        file,
        target,
        anchor,
      })),
    );
    expect(named.length).toBeGreaterThan(5);
    const lost = named.filter(({ target, anchor }) => {
      const [path = ''] = target.split('#');
      return !existsSync(join(root, path)) || (anchor !== undefined && !anchorsOf(read(path)).has(anchor));
    });
    expect(lost).toEqual([]);
  });
});
