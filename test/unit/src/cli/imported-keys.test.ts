import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { readImportedKeys } from '../../../../src/cli/imported-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-import-'));
const file = join(folder, 'keys.jsonl');
afterAll(() => rmSync(folder, { recursive: true }));

const sha256 = 'AB'.repeat(32);
const read = (...lines: readonly (object | string)[]) => {
  writeFileSync(file, lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  return readImportedKeys(file);
};

it('reads a key from each line, but empty ones', () => {
  const limits = { requests_per_minute: 3 };
  expect(
    read({ account: 'acme', sha256 }, '', { account: 'b', sha256, expires: '2027-01-31', limits }),
  ).toEqual([
    {
      account: 'acme',
      digest: 'ab'.repeat(32),
      name: '',
      hint: '',
      expires_ms: null,
      limits: {},
      models: null,
      tags: {},
    },
    expect.objectContaining({ account: 'b', expires_ms: Date.UTC(2027, 0, 31), limits }),
  ]);
});

it.each<[object | string, string]>([
  ['{', 'keys.jsonl:2: is no JSON'],
  [{ sha256 }, 'keys.jsonl:2: account: '],
  [{ account: 'a', sha256: 'ab' }, 'sha256: must be the SHA-256 of the key'],
  [{ account: 'a', sha256, limit: {} }, "limit: unknown name; did you mean 'limits'?"],
  [{ account: 'a', sha256, name: 'x\u0007' }, 'name: has 200 characters at most'],
])('refuses %j, and names its line', (line, message) => {
  expect(() => read({ account: 'a', sha256 }, line)).toThrow(message);
});
