import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { CustomInput } from '../../../../../plugins/dialects/responses/custom-input.ts';
import { cutAt, cuts } from '../../../chunk-stream.ts';

/** The pieces that come out, the rest at the end last. */
function decoded(pieces: readonly string[]): string[] {
  const input = new CustomInput();
  return [...pieces.map(piece => input.push(piece)), input.end()];
}

const text = fc.string({ unit: 'grapheme', maxLength: 40 });

describe('the input of a custom tool', () => {
  it('is the text in its arguments, wherever they are cut', () => {
    fc.assert(
      fc.property(text, fc.boolean(), cuts, (said, spaced, at) => {
        const args = JSON.stringify({ input: said }, null, spaced ? 2 : 0);
        const pieces = decoded(cutAt(args, at));
        expect(pieces.join('')).toBe(said);
        for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
      }),
    );
  });

  it('is the same with every character escaped', () => {
    fc.assert(
      fc.property(text, cuts, (said, at) => {
        const escapes = said
          .split('')
          .map(half => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join('');
        expect(decoded(cutAt(`{"input":"${escapes}"}`, at)).join('')).toBe(said);
      }),
    );
  });

  it('comes piece by piece, and is whole at its closing quote', () => {
    const input = new CustomInput();
    expect(input.push('{"in')).toBe('');
    expect(input.push('put": "*** Begin')).toBe('*** Begin');
    expect(input.push(' Patch\\')).toBe(' Patch');
    expect(input.push('n\\ud83e')).toBe('\n');
    expect(input.isWhole).toBe(false);
    expect(input.push('\\udd80"')).toBe('🦀');
    expect(input.isWhole).toBe(true);
    expect(input.push('}') + input.end()).toBe('');
  });

  it.each<[string, string, string]>([
    ['plain text', '*** Begin Patch', '*** Begin Patch'],
    ['a text of JSON', '"ls -l"', 'ls -l'],
    ['one text under another name', '{"patch":"a"}', 'a'],
    ['the input after other fields', '{"why":"b","input":"a"}', 'a'],
    ['an object of several texts', '{"a":"b","c":"d"}', '{"a":"b","c":"d"}'],
    ['an object without fields', '{}', ''],
    ['no arguments', '', ''],
    ['an input that is no text', '{"input":{"a":1}}', '{"input":{"a":1}}'],
    ['a line break that is not escaped', '{"input":"a\nb"}', 'a\nb'],
    ['escapes that JSON does not have', '{"input":"a\\d\\u00g1\\/"}', 'ad\\u00g1/'],
    ['half a character', '{"input":"a\\ud83db"}', 'a\uFFFDb'],
    ['arguments cut off within an escape', '{"input":"a\\u00', 'a'],
    ['arguments cut off before the input', '{"inp', ''],
    ['much space before the input', `{${' '.repeat(99)}"input":"a"}`, 'a'],
  ])('is made of %s', (_, args, expected) => {
    expect(decoded([args]).join('')).toBe(expected);
    expect(decoded([...args]).join('')).toBe(expected);
  });
});
