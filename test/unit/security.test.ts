import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { read, root } from '../support/documents/blocks.ts';

const [, promises = ''] = read('docs/security.md').split('\n## What is promised\n');
const rows = promises
  .split('\n## ')[0]!
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| promise |'));

describe('the promises about security', () => {
  it.each(rows.map(row => [row.split(' | ')[0]!.slice(2), row]))('are tested: %s', (_, row) => {
    const named = [...row.matchAll(/`(test\/[^`]+)`/g)].map(([, file]) => file!);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(file => !/\.test\.ts$/.test(file) || !existsSync(join(root, file)))).toEqual([]);
  });
});
