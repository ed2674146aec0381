import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { embeddings, rerank, textCompletions } from '../../../../../plugins/dialects/operations/index.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';

const dialects = { embeddings, completions: textCompletions, rerank };
const parse = (name: keyof typeof dialects, body: object): ChatRequest =>
  dialects[name].create({}, { models: [] }).parse({ model: 'a/m', ...body });
const sent = (request: ChatRequest) =>
  request.operation!.encode(request, { model: 'served', extraParameters: ['extra'] });

const text = fc.string({ minLength: 1 });
const tokens = fc.array(fc.nat(), { minLength: 1, maxLength: 5 });
const several = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: 1, maxLength: 8 });
const inputs = fc.oneof(text, tokens, several(text), several(tokens));

const own = (input: unknown) => (Array.isArray(input) && input.length === 1 ? input[0] : input);

it('sends each input as it came, text or tokens, and no field that is not known', () => {
  fc.assert(
    fc.property(inputs, input => {
      const body = { input, dimensions: 3, encoding_format: 'base64', extra: 1, other: 2 };
      const { path, body: encoded } = sent(parse('embeddings', body));
      // One element is the same as a list of it, unless that is a token.
      const expected = Array.isArray(input) && typeof input[0] === 'number' ? input : own(input);
      expect(path).toBe('/embeddings');
      expect(encoded).toEqual({
        model: 'served',
        dimensions: 3,
        encoding_format: 'base64',
        extra: 1,
        input: expected,
      });
    }),
  );
});

it('sends no text but what stages have left of it', () => {
  const bodies = fc.oneof(
    fc.record({ name: fc.constant('embeddings' as const), body: fc.record({ input: several(text) }) }),
    fc.record({
      name: fc.constant('completions' as const),
      body: fc.record({ prompt: several(text), suffix: text }),
    }),
    fc.record({
      name: fc.constant('rerank' as const),
      body: fc.record({ query: text, documents: several(text.map(one => ({ text: one }))) }),
    }),
  );
  fc.assert(
    fc.property(bodies, ({ name, body }) => {
      const masked = parse(name, body);
      const count = Object.values(body).flat().length;
      expect(masked.messages).toHaveLength(count);
      for (const message of masked.messages) message.content = '[masked]';
      const { model: _, max_tokens, ...texts } = sent(masked).body;
      expect(Object.values(texts).flat()).toEqual(Array.from({ length: count }, () => '[masked]'));
    }),
  );
});

it('leaves out what a stage has put before the input', () => {
  const request = parse('embeddings', { input: ['One', 'Two'] });
  request.messages.unshift({ role: 'system', content: 'Be brief.' });
  expect(sent(request).body.input).toEqual(['One', 'Two']);
});

it('counts the choices of all prompts, and asks the upstream for those of each', () => {
  const request = parse('completions', { prompt: ['One', 'Two'], n: 3 });
  expect(request).toMatchObject({ n: 6, max_tokens: 16 });
  expect(sent(request).body).toMatchObject({ prompt: ['One', 'Two'], n: 3 });
});

it.each<[keyof typeof dialects, object, string]>([
  ['embeddings', {}, 'input: is required'],
  ['embeddings', { input: '' }, 'input: must be a text or token ids, not empty'],
  ['embeddings', { input: [] }, 'input: is required'],
  ['embeddings', { input: ['One', ''] }, 'input[1]: must be'],
  ['embeddings', { input: [1, -2] }, 'input[0]: must be'],
  [
    'embeddings',
    { input: Array.from({ length: 2049 }, () => 'One') },
    'input: is required: a text, token ids',
  ],
  ['embeddings', { input: 'One', encoding_format: 'int8' }, 'encoding_format: must be one of: float, base64'],
  ['embeddings', { input: 'One', dimensions: 0 }, 'dimensions: must be'],
  ['completions', { prompt: ['One', 'Two'], n: 65 }, 'n: must be at most 128 for all prompts together'],
  ['completions', { prompt: 'One', max_tokens: -1 }, 'max_tokens: must be an integer of at least 0'],
  ['completions', { prompt: 'One', logprobs: true }, 'logprobs: must be an integer from 0 to 20'],
  [
    'completions',
    { prompt: 'One', stream_options: { include_usage: true } },
    'stream_options: is accepted only',
  ],
  ['completions', { prompt: 'One', best_of: 2 }, 'best_of: is not offered'],
  ['rerank', { documents: ['One'] }, 'query: must be a string'],
  ['rerank', { query: 'Which?', documents: [] }, 'documents: must have 1 to 2048 documents.'],
  ['rerank', { query: 'Which?', documents: ['One', { image: 'x' }] }, 'documents[1]: must be a text'],
  ['rerank', { query: 'Which?', documents: ['One'], top_n: 0 }, 'top_n: must be'],
])('refuses %s of %j', (name, body, message) => {
  expect(() => parse(name, body)).toThrow(
    expect.objectContaining({ message: expect.stringContaining(message) }),
  );
});
