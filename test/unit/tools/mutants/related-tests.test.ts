import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { folderOf, relatedTests } from '../../../tools/mutants/related-tests.ts';

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`);
const tests = filesBelow('test').filter(file => file.endsWith('.test.ts'));

it('knows end-to-end or contract tests for every source file', () => {
  const files = [...filesBelow('src'), ...filesBelow('plugins')].filter(file => file.endsWith('.ts'));
  expect(files.filter(file => folderOf(file) === '')).toEqual([]);
  expect(files.filter(file => relatedTests(file, tests).far.length === 0)).toEqual([]);
});

it('tries the mirror of a file first, then its neighbours, then tests named like it', () => {
  const { own, near, far } = relatedTests('src/stores/ledger/ledger.ts', tests);
  expect(own).toContain('test/unit/src/stores/ledger/ledger.test.ts');
  expect(near).toContain('test/unit/src/stores/ledger/disk-queue.test.ts');
  expect(far[0]).toMatch(/e2e\/ledger|contract\/ledger/);
  expect([...own, ...near].filter(test => test.includes('/e2e/'))).toEqual([]);
});
