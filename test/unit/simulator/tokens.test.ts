import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { proseRun } from '../../../src/simulator/prose.ts';
import { countTokens, runText, splitTokens } from '../../../src/simulator/tokens.ts';

describe('splitTokens', () => {
  it('keeps the leading space with the word and cuts long words', () => {
    expect(splitTokens('Hello there, incomprehensible world.')).toEqual([
      'Hello',
      ' there',
      ',',
      ' incompre',
      'hensible',
      ' world',
      '.',
    ]);
  });

  it('treats think tags and chat markers as single tokens', () => {
    expect(splitTokens('<|user|>\n<think>\nYes.\n</think>\n\nNo')).toEqual([
      '<|user|>',
      '\n',
      '<think>',
      '\n',
      'Yes',
      '.',
      '\n',
      '</think>',
      '\n\n',
      'No',
    ]);
  });

  it('splits scripts without spaces by character', () => {
    expect(splitTokens('你好 world 12345')).toEqual(['你', '好', ' world', ' 123', '45']);
  });

  it('loses no character of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
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
      fc.property(fc.integer({ min: 1, max: 1_500 }), fc.nat(), (count, seed) => {
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
