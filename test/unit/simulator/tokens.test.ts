import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { proseRun } from '../../../src/simulator/prose.ts';
import { countTokens, runText, splitTokens } from '../../../src/simulator/tokens.ts';
import { anyCharacter } from '../chunk-stream.ts';

describe('splitTokens', () => {
  it.each([
    [
      'keeps the leading space with the word and cuts long words',
      'Hello· there·,· incompre·hensible· world·.',
    ],
    [
      'treats think tags and chat markers as single tokens',
      '<|user|>·\n·<think>·\n·Yes·.·\n·</think>·\n\n·No',
    ],
    ['splits scripts without spaces by character', '你·好· world· 123·45'],
  ])('%s', (_, tokens) => {
    expect(splitTokens(tokens.replaceAll('·', ''))).toEqual(tokens.split('·'));
  });

  it('loses no character of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), text => {
        expect(splitTokens(text).join('')).toBe(text);
        expect(countTokens(text)).toBe(splitTokens(text).length);
      }),
    );
  });
});

describe('proseRun', () => {
  const opening = 'You asked about "rivers".';

  it('has exactly the requested number of tokens, and its text splits into the same ones', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.nat(), (count, seed) => {
        const text = runText(proseRun(seed, opening, count));
        expect(countTokens(text)).toBe(count);
      }),
      { numRuns: 50 },
    );
  });

  it('depends on the seed alone', () => {
    const text = runText(proseRun(7, opening, 60));
    expect(runText(proseRun(7, opening, 60))).toBe(text);
    expect(runText(proseRun(8, opening, 60))).not.toBe(text);
    expect(text).toMatch(/^You asked about "rivers"\. [A-Z].*\.$/);
  });

  it('never ends when endless', () => {
    const run = proseRun(7, opening, Number.POSITIVE_INFINITY);
    expect(run.at(1_000_000)).toMatch(/\S/);
  });
});
