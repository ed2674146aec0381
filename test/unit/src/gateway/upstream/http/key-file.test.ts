import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { ProviderConfig } from '../../../../../../src/common/options.ts';
import { keysOf, readKeyFile } from '../../../../../../src/gateway/upstream/http/key-file.ts';

const file = join(mkdtempSync(join(tmpdir(), 'keys-')), 'keys');

describe('the keys of a provider', () => {
  it.each<[string, string[] | string]>([
    ['a\r\n\n  # old\n#x\n b#c \n', ['a', 'b#c']],
    ['# none\n\n', 'has no keys in it'],
    ['a\n\nb c\n', 'key number 2 has characters that no header can carry'],
    ['clé', 'key number 1 has characters that no header can carry'],
  ])('are the lines of a file: %j', (text, expected) => {
    writeFileSync(file, text);
    if (typeof expected === 'string') expect(() => readKeyFile(file)).toThrow(expected);
    else expect(readKeyFile(file)).toEqual(expected);
  });

  it('are those of its file, its list or its only one', () => {
    writeFileSync(file, 'f');
    const keys = (fields: Partial<ProviderConfig>) => keysOf(fields as ProviderConfig);
    expect([keys({}), keys({ api_key: 'k' }), keys({ api_keys: ['l', 'm'] })]).toEqual([
      [],
      ['k'],
      ['l', 'm'],
    ]);
    expect(keys({ api_key_file: file })).toEqual(['f']);
  });
});
