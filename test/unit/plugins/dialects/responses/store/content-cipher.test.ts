import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ContentCipher } from '../../../../../../plugins/dialects/responses/store/content-cipher.ts';

const [first, second, third] = ['a', 'b', 'c'].map(letter => letter.repeat(32)) as [string, string, string];

describe('the cipher of stored content', () => {
  it('gives back any text, and none that is bound to something else', () => {
    const cipher = new ContentCipher([first]);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (text, bound, other) => {
        const content = cipher.encrypt(text, bound);
        expect(cipher.decrypt(content, bound)).toBe(text);
        if (other !== bound) expect(cipher.decrypt(content, other)).toBeUndefined();
      }),
    );
  });

  it('encrypts with the first secret and decrypts with all of them', () => {
    const before = new ContentCipher([first, second]).encrypt('kept', 'x');
    expect(new ContentCipher([third, first]).decrypt(before, 'x')).toBe('kept');
    expect(new ContentCipher([third, second]).decrypt(before, 'x')).toBeUndefined();
    expect(
      new ContentCipher([first]).decrypt(new ContentCipher([third, first]).encrypt('new', 'x'), 'x'),
    ).toBe(undefined);
  });

  it('gives nothing back of a content that was changed, or of any other text', () => {
    const cipher = new ContentCipher([first]);
    const [version, name, encoded = ''] = cipher.encrypt('kept', 'x').split('.');
    const bytes = Buffer.from(encoded, 'base64');
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        const changed = Buffer.from(bytes);
        changed[at]! ^= bits;
        expect(cipher.decrypt(`${version}.${name}.${changed.toString('base64')}`, 'x')).toBeUndefined();
      }),
    );
    for (const text of ['', '1', '1..', `1.${name}.AAAA`, `2.${name}.${encoded}`])
      expect(cipher.decrypt(text, 'x')).toBeUndefined();
  });
});
