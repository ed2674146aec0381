import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { estimatePrompt, estimateTokens, TokenEstimator } from '../../../../src/settlement/estimate.ts';
import { cutAt, cuts } from '../../chunk-stream.ts';
import { sampleRequest } from '../../sample-exchange.ts';

describe('the estimate of a text (protocol e)', () => {
  it.each([
    ['nothing', '', 0],
    ['ASCII, four to a token', 'abcdefgh', 2],
    ['a part of a token, which is one', 'abcde', 2],
    ['other letters, three to a token', 'привет', 2],
    ['ideographs, four to three tokens', '你好你好', 3],
    ['kana and hangul like ideographs', 'ひらがな한국', 5],
    ['a mixture, rounded once', 'abc да 你', Math.ceil(5 / 4 + 2 / 3 + 0.75)],
    ['English', 'The river bends because its outer bank is worn away.', 13],
    ['code', 'for (let i = 0; i < 10; i++) {\n  total += i;\n}\n', 12],
    ['Russian', 'Река изгибается, потому что её внешний берег размывается.', 19],
    ['Chinese', '河流弯曲是因为外岸被侵蚀。', 10],
  ])('%s', (_, text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it('does not depend on the pieces, and never falls', () => {
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

describe('the estimate of a prompt', () => {
  const user = { role: 'user' as const, content: 'abcdefgh' };

  it('is its text and four for each message', () => {
    expect(estimatePrompt(sampleRequest({ messages: [user] }))).toBe(2 + 4);
    expect(estimatePrompt(sampleRequest({ messages: [user, user] }))).toBe(4 + 8);
    const parts = {
      role: 'user' as const,
      content: ['abcd', 'efgh'].map(text => ({ type: 'text' as const, text })),
    };
    expect(estimatePrompt(sampleRequest({ messages: [parts] }))).toBe(2 + 4);
  });

  it('counts tools and earlier tool calls', () => {
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
