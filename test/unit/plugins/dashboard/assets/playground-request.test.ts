import { describe, expect, it } from '@jest/globals';

/** What the playground's script has; browsers are given it as it is, so it has no types of its own. */
interface Asset {
  requestOf(form: object): Readonly<Record<string, unknown>>;
}
const file = '../../../../../plugins/dashboard/assets/playground-request.js';
const { requestOf } = (await import(file)) as Asset;

const facts = { reasoning: true, levels: ['low', 'high'], usual: 'high', max_tokens: 100 };
const messages = [{ role: 'user', content: 'Why?' }];
const empty = { reasoning_effort: '', temperature: '', max_tokens: '', top_p: '', stop: '', seed: '' };
const form = { model: 'aion-labs/aion-3.5', facts, messages, parameters: empty };

describe('the request of the playground form', () => {
  it('omits empty fields', () => {
    expect(requestOf(form)).toEqual({
      model: 'aion-labs/aion-3.5',
      messages,
      reasoning_split: true,
      stream: true,
      stream_options: { include_usage: true, continuous_usage_stats: true },
    });
  });

  it('has numbers where the API has numbers, and a list of texts to stop at', () => {
    const parameters = {
      reasoning_effort: 'low',
      temperature: '0',
      max_tokens: '50',
      top_p: '0.5',
      stop: '2',
      seed: '7',
    };
    expect(requestOf({ ...form, parameters })).toMatchObject({
      messages,
      reasoning_effort: 'low',
      temperature: 0,
      max_tokens: 50,
      top_p: 0.5,
      stop: ['2'],
      seed: 7,
    });
  });

  it('leaves out what the model does not take', () => {
    const parameters = { ...empty, reasoning_effort: 'low' };
    const plain = { ...facts, reasoning: false, levels: [] };
    const request = requestOf({ ...form, facts: plain, parameters });
    for (const name of ['reasoning_split', 'reasoning_effort']) expect(request).not.toHaveProperty(name);
  });
});
