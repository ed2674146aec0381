import { afterEach, describe, expect, it } from '@jest/globals';
import type { Json } from '../../../src/common/json-object.ts';
import { closeAll, simulate } from './client.ts';

afterEach(closeAll);

/** The body of the reply, which is JSON; a text if it is a stream. */
async function asked(path: string, body: object, status = 200): Promise<Json> {
  const simulator = await simulate();
  const reply = await fetch(simulator.url + path, { method: 'POST', body: JSON.stringify(body) });
  expect(reply.status).toBe(status);
  const text = await reply.text();
  return text.startsWith('{') ? JSON.parse(text) : { text };
}

describe('embeddings', () => {
  const vectorsOf = async (body: object) =>
    ((await asked('/embeddings', body)).data as { embedding: number[] }[]).map(({ embedding }) => embedding);
  const product = (one: readonly number[], other: readonly number[]) =>
    one.reduce((sum, part, at) => sum + part * other[at]!, 0);

  it('are the same for the same text, of length 1, and near where words are shared', async () => {
    const input = ['A red boat', 'A red boat sails', 'Cold winter nights'];
    const [one, near, far] = await vectorsOf({ input, dimensions: 64 });
    expect(await vectorsOf({ input: input[0], dimensions: 64 })).toEqual([one]);
    expect(product(one!, one!)).toBeCloseTo(1, 5);
    expect(product(one!, near!)).toBeGreaterThan(product(one!, far!) + 0.2);
  });

  it('come in base64 as well, and count tokens', async () => {
    const body = { input: [[1, 2, 3]], dimensions: 8 };
    const [floats] = await vectorsOf(body);
    const reply = await asked('/embeddings', { ...body, encoding_format: 'base64' });
    const [{ embedding }] = reply.data as [{ embedding: string }];
    expect(Array.from(new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer))).toEqual(
      floats,
    );
    expect(reply.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
  });

  it('refuse what is no input', async () => {
    expect(await asked('/embeddings', { input: [{}] }, 400)).toMatchObject({ error: { param: 'input' } });
  });
});

describe('completions', () => {
  it('stream the text that they give whole, for each prompt', async () => {
    const body = { prompt: ['Tell me of rivers.', 'And of lakes.'], max_tokens: 12 };
    const whole = await asked('/completions', body);
    expect(whole).toMatchObject({ object: 'text_completion', usage: { completion_tokens: 24 } });
    const { text } = await asked('/completions', { ...body, stream: true });
    const events = String(text).split('\n\n').slice(0, -2);
    const choices = events.flatMap(event => JSON.parse(event.slice('data: '.length)).choices);
    expect(whole.choices).toMatchObject(
      [0, 1].map(index => ({
        index,
        finish_reason: 'length',
        text: choices.map(choice => (choice.index === index ? choice.text : '')).join(''),
      })),
    );
  });
});

it('ranks documents by the words that they share with the query', async () => {
  const documents = ['Cold winter nights', 'A red boat sails'];
  const reply = await asked('/rerank', { query: 'red boat', documents, top_n: 1 });
  expect(reply.results).toMatchObject([{ index: 1, document: { text: documents[1] } }]);
});
