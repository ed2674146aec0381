import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { loadGptCounter } from '../../../../src/config/gpt-counter.ts';
import { estimateTexts } from '../../../support/estimate-texts.ts';
import { anyCharacter, cutAt, cuts } from '../../chunk-stream.ts';

const newCounter = await loadGptCounter();

function counted(pieces: readonly string[]): number {
  const counter = newCounter();
  for (const piece of pieces) counter.add(piece);
  return counter.tokens;
}

describe('the counter gpt-tokenizer', () => {
  it.each(Object.entries(estimateTexts))('is within 2 %% for %s, even character by character', (_, texts) => {
    const text = texts.at(-1)!;
    const whole = counted([text]);
    expect(Math.abs(whole / countTokens(text) - 1)).toBeLessThan(0.02);
    expect(counted(text.split(''))).toBe(whole);
    expect(counted(text.match(/.{1,5}/gsu)!)).toBe(whole);
  });

  it('counts the same however the text is cut', () => {
    const part = fc.constantFrom(...`don't ~x~да~河~ไทย~👩‍👩‍👧~12~ ~\n~, ~<|endoftext|>~ệ`.split('~'));
    const text = fc.array(part, { maxLength: 60 }).map(parts => parts.join(''));
    fc.assert(
      fc.property(text, cuts, (found, places) => {
        expect(counted(cutAt(found, places))).toBe(counted([found]));
      }),
    );
  });

  it('never counts more than a token above the text for each 64 characters without the end of a word', () => {
    const text = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 200 }), fc.string({ maxLength: 200 }));
    fc.assert(
      fc.property(text, found => {
        const most = countTokens(found, { disallowedSpecial: new Set() }) + Math.ceil(found.length / 64);
        expect(counted([found])).toBeLessThanOrEqual(most);
      }),
    );
  });
});
