import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { max_tokens_per_character, TokenEstimator } from '../../../../src/settlement/token-estimator.ts';
import { estimatePrompt, estimateTokens } from '../../../../src/settlement/usage-meter.ts';
import { cutAt, cuts } from '../../chunk-stream.ts';
import { sampleRequest } from '../../sample-exchange.ts';

describe('the token estimate of a text', () => {
  it.each([
    ['nothing', '', 0],
    ['a word, with the space before it', 'a b c', 3],
    ['a long word, which is more than one', 'x'.repeat(400), 119],
    ['capitals within a word, which begin another', 'camelCaseName', 2],
    ['digits, three to a token', '1234567', 4],
    ['a word of another alphabet', 'привет', 2],
    ['ideographs', '你好你好', 3],
    ['kana and hangul like ideographs', 'ひらがな한국', 5],
    ['a mixture, rounded once', 'abc да 你', 3],
    ['English', 'The river bends because its outer bank is worn away.', 11],
    ['code', 'for (let i = 0; i < 10; i++) {\n  total += i;\n}\n', 23],
    ['Russian', 'Река изгибается, потому что её внешний берег размывается.', 14],
    ['Chinese', '河流弯曲是因为外岸被侵蚀。', 10],
  ])('is right for %s', (_, text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it('never exceeds the bound that saves counting short text', () => {
    const piece = fc.constantFrom(
      ' 1',
      '1',
      'a',
      'A',
      ' ',
      '\n',
      '!',
      'я',
      '你',
      '！',
      '→',
      '1a',
      '!a',
      ' 12',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 80 }).map(pieces => pieces.join('')),
        text => {
          expect(estimateTokens(text)).toBeLessThanOrEqual(
            Math.ceil(text.length * max_tokens_per_character) + 2,
          );
        },
      ),
    );
  });

  it.each([' 1', 'я1', '1！', '1a', '1!', '1你'])('does not exceed the bound for %j repeated', piece => {
    const text = piece.repeat(1000);
    expect(estimateTokens(text)).toBeLessThanOrEqual(Math.ceil(text.length * max_tokens_per_character) + 1);
  });

  it('does not depend on how the text is split, and never falls', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), cuts, (text, places) => {
        const estimator = new TokenEstimator();
        let before = 0;
        for (const piece of cutAt(text, places)) {
          estimator.add(piece);
          expect(estimator.tokens).toBeGreaterThanOrEqual(before);
          before = estimator.tokens;
        }
        expect(before).toBe(estimateTokens(text));
      }),
    );
  });
});

describe('the token estimate of a prompt', () => {
  const user = { role: 'user' as const, content: 'word word' };

  it('is that of its text plus four per message', () => {
    expect(estimatePrompt(sampleRequest({ messages: [user] }))).toBe(2 + 4);
    expect(estimatePrompt(sampleRequest({ messages: [user, user] }))).toBe(4 + 8);
    const parts = {
      role: 'user' as const,
      content: ['word ', 'word'].map(text => ({ type: 'text' as const, text })),
    };
    expect(estimatePrompt(sampleRequest({ messages: [parts] }))).toBe(2 + 4);
  });

  it('includes tools and earlier tool calls', () => {
    const tools = [{ type: 'function' as const, function: { name: 'roll', description: 'x'.repeat(400) } }];
    const tool_calls = [
      { id: 'a', type: 'function' as const, function: { name: 'roll', arguments: 'x'.repeat(400) } },
    ];
    const plain = estimatePrompt(sampleRequest({ messages: [user] }));
    expect(estimatePrompt(sampleRequest({ messages: [user], tools }))).toBeGreaterThan(plain + 100);
    const calling = { role: 'assistant' as const, content: null, tool_calls };
    expect(estimatePrompt(sampleRequest({ messages: [user, calling] }))).toBeGreaterThan(plain + 100);
  });
});
