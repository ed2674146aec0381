import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { relatedTests } from '../../../tools/mutants/related-tests.ts';

const all = readdirSync('test', { recursive: true, encoding: 'utf8' }).map(name => `test/${name}`);
const tests = all.filter(file => file.endsWith('.test.ts'));

it('tries the mirror of a file first, then its neighbours, then tests named like it', () => {
  const { own, near, far } = relatedTests('src/mount/ledger/ledger.ts', tests);
  expect(own).toContain('test/unit/src/mount/ledger/ledger.test.ts');
  expect(near).toContain('test/unit/src/mount/ledger/disk-queue.test.ts');
  expect(far[0]).toMatch(/e2e\/ledger|contract\/ledger/);
  expect([...own, ...near].filter(test => test.includes('/e2e/'))).toEqual([]);
});
