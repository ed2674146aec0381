import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';
import fc from 'fast-check';
import { type Mutant, mutantsOf } from '../../../tools/mutants/operators.ts';

const withBug = (source: string, { start, end, text }: Mutant): string => {
  const bytes = Buffer.from(source);
  return `${bytes.subarray(0, start)}${text}${bytes.subarray(end)}`;
};
const bugged = (source: string): string[] => mutantsOf(source).map(mutant => withBug(source, mutant));

describe('the mutation operators', () => {
  it.each([
    ['stop(now);', [';']],
    ['throw a;', [';']],
    ['function a() { return; return b; }', ['function a() { ; return b; }']],
    ['const a = b < c;', ['const a = (b <= c);']],
    ['const a = b ?? c;', ['const a = b;']],
    ['const a = await b;', ['const a = b;']],
    ['const a = b ? c : d;', ['const a = ((b) ? (d) : (c));']],
    ['const a = Math.ceil(b);', ['const a = Math.floor(b);']],
    ['if (a) b = c;', ['if (!(a)) b = c;', 'if (false) b = c;', 'if (a) ;']],
    ['const a = true;', ['const a = false;']],
    ['const a = 1, b = 7;', ['const a = 2, b = 7;']],
  ])('turn %j into %j', (source, expected) => {
    expect(bugged(source)).toEqual(expected);
  });

  it('leave types and imports alone', () => {
    expect(
      bugged("import { a } from '../../mutants/1.ts'; type B = 1 | 2; interface C { readonly d: 1 }"),
    ).toEqual([]);
  });

  it('find the right offset after multi-byte characters and after earlier parses', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), text => {
        const source = `const before = ${JSON.stringify(text)};\nif (a) b();\n`;
        expect(bugged(source)).toContain(source.replace('if (a)', 'if (!(a))'));
      }),
    );
  });

  it('leave a source that still parses', () => {
    const source = 'async function f(a: number) { if (a > 0 && g(a)) { await h(a + 1); return; } else i++; }';
    for (const text of bugged(source)) expect(() => parseSync(text, { syntax: 'typescript' })).not.toThrow();
  });
});
