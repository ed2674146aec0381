import { describe, expect, it } from '@jest/globals';
import { discoveredModels } from '../../../../../src/mount/provider-check/discovered-model.ts';

describe('discoveredModels()', () => {
  it('leaves out names that a terminal would obey, that are too long or that come again', () => {
    const ids = ['good', 'a\u001b[31m', 'b\u009b2J', 'c\nmodels:', '\u202ed', 'x'.repeat(600), 'good', 7];
    const data = [...ids.map(id => ({ id })), { id: 'titled', name: '\u001b[2J', max_model_len: 1e300 }];
    const models = discoveredModels({ data });
    expect(models.map(({ id }) => id)).toEqual(['good', 'titled']);
    expect(models[1]).toMatchObject({ name: undefined, context_length: undefined });
  });

  it.each([
    ['vLLM and SGLang', { id: 'm', max_model_len: 32768, created: 4102444800 }, { context_length: 32768 }],
    ['llama.cpp', { id: 'm', meta: { n_ctx_train: 131072 } }, { context_length: 131072 }],
    [
      'llama.cpp started with a smaller window than the model was trained with',
      { id: 'm', meta: { n_ctx: 8192, n_ctx_train: 131072 } },
      { context_length: 8192 },
    ],
    [
      'Anthropic',
      {
        id: 'm',
        display_name: 'M',
        created_at: '2026-02-04T00:00:00Z',
        max_input_tokens: 200000,
        max_tokens: 64000,
      },
      { name: 'M', date: '2026-02-04', context_length: 200000, max_completion_tokens: 64000 },
    ],
    [
      'OpenRouter',
      {
        id: 'v/m',
        name: 'V: M',
        created: 1769904000,
        context_length: 163840,
        top_provider: { max_completion_tokens: 65536 },
        pricing: { prompt: '0.0000007', completion: '0.0000025', input_cache_read: 3.5e-7, request: '0' },
        supported_parameters: ['tools', 'reasoning', 'temperature'],
      },
      {
        id: 'v/m',
        name: 'V: M',
        date: '2026-02-01',
        context_length: 163840,
        max_completion_tokens: 65536,
        pricing: { prompt: '0.0000007', completion: '0.0000025', input_cache_read: '0.00000035' },
        reasoning: true,
        tool_calls: true,
      },
    ],
    ['OpenAI', { id: 'm', object: 'model', created: 1, owned_by: 'x' }, { id: 'm' }],
    [
      'a server with invalid fields',
      { id: 'm', max_model_len: '9', context_length: -1, pricing: 'free', created: 'x' },
      {},
    ],
  ])('reads an entry of %s', (_, entry, expected) => {
    const [model] = discoveredModels({ object: 'list', data: [entry] });
    expect(JSON.parse(JSON.stringify(model))).toEqual({ id: 'm', pricing: {}, ...expected });
  });

  it.each([
    [1514764800, '2018-01-01'],
    [1514764799, undefined],
    ['2018-01-01T00:00:00Z', '2018-01-01'],
    ['no date', undefined],
    [Date.now() / 1000, undefined],
  ])('takes days from 2018 to yesterday as release dates: %p', (created, date) => {
    const [model] = discoveredModels([{ id: 'm', created }]);
    expect(model?.date).toBe(date);
  });

  it.each([
    [7e-7, '0.0000007'],
    [2, '2'],
    [10, '10'],
    [0, '0'],
    ['1e-7', undefined],
    [-1, undefined],
  ])('reads the price %p as %p', (prompt, price) => {
    const [model] = discoveredModels([{ id: 'm', pricing: { prompt } }]);
    expect(model?.pricing.prompt).toBe(price);
  });

  it('accepts a bare array and a list under models', () => {
    expect(discoveredModels([{ id: 'a' }, 'x', { id: '' }]).map(({ id }) => id)).toEqual(['a']);
    expect(discoveredModels({ models: [{ name: 'b' }] }).map(({ id }) => id)).toEqual(['b']);
  });

  it.each([null, 'x', {}, { data: {} }])('rejects an answer without a list of models: %p', body => {
    expect(() => discoveredModels(body)).toThrow('the answer has no list of models');
  });
});
