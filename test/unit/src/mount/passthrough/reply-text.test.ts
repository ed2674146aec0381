import { describe, expect, it } from '@jest/globals';
import { HeldText, TextTally } from '../../../../../src/mount/passthrough/reply-text.ts';

const tokensOf = (...values: unknown[]): number => {
  const tally = new TextTally();
  for (const value of values) tally.add(value);
  return tally.tokens;
};
const word = { text: 'word' };
const nested = (levels: number): unknown => (levels === 0 ? word : { a: nested(levels - 1) });

describe('the words of a reply', () => {
  it('are those of texts under names that hold texts, twelve levels deep at most', () => {
    const one = tokensOf(word);
    expect(one).toBeGreaterThan(0);
    expect(tokensOf({ id: 'word', role: 'assistant' })).toBe(0);
    expect([tokensOf(nested(11)), tokensOf(nested(12)), tokensOf(nested(13))]).toEqual([one, one, 0]);
    expect(tokensOf({ type: 'response.output_text.done', ...word })).toBe(0);
    expect(tokensOf({ type: 'response.output_text.delta', delta: 'word' })).toBe(one);
  });

  it('are counted for each choice on its own, so that pieces of two make no word', () => {
    const piece = (index: number, text: string) => ({ choices: [{ index, text }] });
    const alternating = [piece(0, 'count'), piece(1, ' 1'), piece(0, 'ing'), piece(1, '2')];
    expect(tokensOf(...alternating)).toBe(tokensOf({ text: 'counting' }) + tokensOf({ text: ' 12' }));
    expect(tokensOf(...alternating)).not.toBe(tokensOf({ text: 'count 1ing2' }));
    expect(tokensOf(piece(-1, 'one two'), piece(1.5, ' x'))).toBe(tokensOf({ text: 'one two x' }));
    expect(tokensOf(piece(2 ** 40, 'word'))).toBe(tokensOf(word));
  });
});

describe('a reply that is held to be counted', () => {
  const held = (...parts: string[]) => {
    const text = new HeldText();
    for (const part of parts) text.write(Buffer.from(part));
    return text;
  };

  it('is known as far as it is held whole, of JSON by its texts, else by its words', () => {
    expect(held('{"text":', '"word"}').tokens).toBe(tokensOf(word));
    expect(held('plain ', 'words').tokens).toBe(tokensOf({ text: 'plain words' }));
    expect(held('{"text":').known_tokens).toBe(0);
    expect(held().tokens).toBe(0);
  });

  it('is estimated from its letters and all its bytes where it is longer than 64 KiB', () => {
    const long = held('x'.repeat(40_000), 'y'.repeat(40_000));
    expect([long.known_tokens, long.tokens]).toEqual([0, 20_000]);
    expect(held('x'.repeat(65_536)).known_tokens).toBeGreaterThan(0);
    expect(held('[0.5,'.repeat(20_000)).tokens).toBe(0);
  });
});
