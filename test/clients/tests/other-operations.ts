import { createOpenAI } from '@ai-sdk/openai';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embedMany } from 'ai';
import { expect } from 'expect';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { defaultModels } from '../../../src/config/example-models.ts';
import { clientKey } from '../../support/gateway-under-test.ts';
import { asked, gatewayWith, listOf } from '../place.ts';
import { triedOf } from '../tried.ts';

const [example] = defaultModels('upstream');
const modelOf = (id: string, operations: string[]) => ({
  ...example!,
  id,
  operations,
  upstreams: [{ provider: 'upstream', model: id }],
});
const { url } = await gatewayWith({
  config: {
    models: [modelOf('acme/embed', ['embeddings']), modelOf('acme/text', ['text_completion'])],
  } as never,
});
const connection = { apiKey: clientKey, baseURL: `${url}/v1`, maxRetries: 0 };

const input = ['A red boat', 'A red boat sails', 'Cold winter nights'];
const product = (one: readonly number[], other: readonly number[]) =>
  one.reduce((sum, part, at) => sum + part * other[at]!, 0);

/** Expects vectors of length 1, of which the first two are near to each other. */
function expectVectors([one, near, far]: readonly (readonly number[])[]): void {
  expect(product(one!, one!)).toBeCloseTo(1, 4);
  expect(product(one!, near!)).toBeGreaterThan(product(one!, far!) + 0.2);
}

for (const [name, openai] of [
  ['openAiChat', new OpenAI(connection)],
  ['openAi6Chat', new OpenAI6(connection) as unknown as OpenAI],
] as const)
  triedOf('other operations', name, {
    'embeddings, in base64 by default and in floats': async () => {
      const { data, usage } = await openai.embeddings.create({ model: 'acme/embed', input });
      expect(asked()).toMatchObject({ encoding_format: 'base64', input });
      expectVectors(data.map(({ embedding }) => embedding));
      expect(usage.prompt_tokens).toBeGreaterThan(8);
      const floats = await openai.embeddings.create({
        model: 'acme/embed',
        input: input[0]!,
        encoding_format: 'float',
        dimensions: 3,
      });
      expect(floats.data).toMatchObject([{ index: 0, embedding: expect.any(Array) }]);
      expect(floats.data[0]?.embedding).toHaveLength(3);
    },
    'completions, whole and streamed': async () => {
      const request = { model: 'acme/text', prompt: 'Rivers bend because', max_tokens: 20 };
      const whole = await openai.completions.create(request);
      expect(whole).toMatchObject({
        object: 'text_completion',
        choices: [{ index: 0, finish_reason: 'length', text: expect.stringMatching(/./) }],
        usage: { completion_tokens: 20 },
      });
      const chunks = await listOf(await openai.completions.create({ ...request, stream: true }));
      expect(chunks.map(({ choices }) => choices[0]!.text).join('')).toBe(whole.choices[0]!.text);
      expect(chunks.length).toBeGreaterThan(10);
      expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: whole.usage });
    },
    'a model that does not serve them': async () => {
      const refused = openai.embeddings.create({ model: 'acme/text', input });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('serves text_completion, not embeddings'),
      });
    },
  });

triedOf('other operations', 'langChainChat', {
  'embeddings of documents': async () => {
    const { baseURL, apiKey } = connection;
    const embeddings = new OpenAIEmbeddings({
      model: 'acme/embed',
      apiKey,
      configuration: { baseURL },
      maxRetries: 0,
    });
    expectVectors(await embeddings.embedDocuments(input));
  },
});

triedOf('other operations', 'vercelOpenAiChat', {
  'embeddings of several values': async () => {
    const model = createOpenAI(connection).textEmbeddingModel('acme/embed');
    const { embeddings, usage } = await embedMany({ model, values: input, maxRetries: 0 });
    expectVectors(embeddings);
    expect(usage.tokens).toBeGreaterThan(8);
  },
});
