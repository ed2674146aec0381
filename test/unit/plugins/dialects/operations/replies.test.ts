import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { embeddings, rerank } from '../../../../../plugins/dialects/operations/index.ts';
import { chatLogprobs, listedLogprobs } from '../../../../../plugins/dialects/operations/logprobs.ts';
import { encoded, vectorsIn } from '../../../../../plugins/dialects/operations/vectors.ts';
import type { Completion } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';

const floats = fc.array(fc.float({ noNaN: true }), { minLength: 1, maxLength: 9 });

it('gives the same numbers in base64 and back', () => {
  fc.assert(
    fc.property(floats, vector => {
      const base64 = encoded(vector, 'base64');
      expect(typeof base64).toBe('string');
      expect(encoded(base64, 'base64')).toBe(base64);
      expect(encoded(base64, 'float')).toEqual(encoded(vector, 'float'));
    }),
  );
});

it('puts embeddings in the order of their inputs, whatever that of the reply', () => {
  fc.assert(
    fc.property(
      fc.array(floats, { minLength: 1, maxLength: 6 }),
      fc.infiniteStream(fc.nat()),
      (vectors, random) => {
        const data = vectors.map((embedding, index) => ({ index, embedding, at: random.next().value }));
        const shuffled = data.toSorted((one, other) => one.at - other.at);
        expect(vectorsIn({ data: shuffled }, vectors.length)).toEqual(vectors);
      },
    ),
  );
});

it.each<[string, unknown]>([
  ['no list', {}],
  ['too few', { data: [{ embedding: [1] }] }],
  [
    'one twice',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [2] },
      ],
    },
  ],
  [
    'an index beyond',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 2, embedding: [2] },
      ],
    },
  ],
  ['texts', { data: [{ embedding: [1] }, { embedding: ['2'] }] }],
  ['an empty one', { data: [{ embedding: [1] }, { embedding: [] }] }],
])('takes no reply with %s for embeddings', (_, body) => {
  expect(() => vectorsIn(body, 2)).toThrow(expect.objectContaining({ code: 'provider_invalid' }));
});

const listed = fc
  .array(
    fc.record({
      token: fc.string(),
      logprob: fc.option(fc.double({ noNaN: true })),
      top: fc.option(
        fc.dictionary(
          fc.string().filter(name => name !== '__proto__'),
          fc.double({ noNaN: true }),
        ),
      ),
      offset: fc.nat(),
    }),
    { minLength: 1 },
  )
  .map(all => ({
    tokens: all.map(({ token }) => token),
    token_logprobs: all.map(({ logprob }) => logprob),
    top_logprobs: all.some(({ top }) => top) ? all.map(({ top }) => top) : null,
    text_offset: all.map(({ offset }) => offset),
  }));

it('gives log probabilities back as the server has sent them', () => {
  fc.assert(
    fc.property(listed, given => {
      expect(listedLogprobs(chatLogprobs(given))).toEqual(given);
    }),
  );
});

const rankedBy = (documents: number, reply: unknown, more: object = {}) => {
  const dialect = rerank.create({}, { models: [] });
  const texts = Array.from({ length: documents }, (_, at) => `${at}`);
  const request = dialect.parse({ model: 'a/m', query: 'Which?', documents: texts, ...more });
  const identity = { key: 'x', created: 0, model: 'a/m', request, now_s: () => 0 };
  const decoded: Completion = request.operation!.decodeReply(reply);
  return JSON.parse(dialect.renderReply(identity, { ...decoded, usage: usageOf(3, 0) })).results;
};

it('ranks by score whatever the server calls it, at most as many as were asked for', () => {
  const scores = [0.1, 0.9, 0.5].map((score, index) => ({ index, score }));
  const expected = [1, 2].map(index => ({ index, relevance_score: scores[index]!.score }));
  expect(rankedBy(3, scores, { top_n: 2, return_documents: false })).toEqual(expected);
  expect(rankedBy(3, scores, { top_n: 1 })).toEqual([{ ...expected[0], document: { text: '1' } }]);
});

it.each([
  [[{ index: 3, score: 1 }]],
  [
    [
      { index: 0, score: 1 },
      { index: 0, score: 1 },
    ],
  ],
  [[{ index: 0 }]],
  [{ results: 'none' }],
])('takes no reply of %j for ranks of three documents', reply => {
  expect(() => rankedBy(3, reply)).toThrow(expect.objectContaining({ code: 'provider_invalid' }));
});

it('takes an error for one, and a stage’s text for no embeddings', () => {
  const dialect = embeddings.create({}, { models: [] });
  const request = dialect.parse({ model: 'a/m', input: 'One' });
  expect(() => request.operation!.decodeReply({ error: { message: 'Out of memory.' } })).toThrow(
    'Out of memory.',
  );
  const identity = { key: 'x', created: 0, model: 'a/m', request, now_s: () => 0 };
  const said: Completion = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  };
  expect(() => dialect.renderReply(identity, said)).toThrow(
    expect.objectContaining({ code: 'provider_invalid' }),
  );
});
