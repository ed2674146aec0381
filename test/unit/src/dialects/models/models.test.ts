import { describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../../../../src/catalog/default-models.ts';
import { modelSchema } from '../../../../../src/catalog/model-schema.ts';
import { models as modelsDialect } from '../../../../../src/dialects/models/index.ts';

const models = defaultModels('upstream').map(model => ({
  ...modelSchema.parse(model),
  extra_parameters: [],
}));

interface Body {
  object: string;
  data: Record<string, unknown>[];
  models: Record<string, unknown>[];
}
const answerOf = (catalog: typeof models) =>
  modelsDialect.create({}, { models: catalog }).answer({}, '/v1/models');
const {
  body: text = '',
  headers: { etag },
} = answerOf(models);
const body = JSON.parse(text) as Body;

describe('the model list', () => {
  it('has the legacy list beside it, which lacks two fields', () => {
    expect(Object.keys(body)).toEqual(['object', 'data', 'models']);
    expect(body.object).toBe('list');
    expect(body.data.map(({ object: _, created: __, ...rest }) => rest)).toEqual(body.models);
    for (const entry of body.models)
      expect(Object.keys(entry)).not.toEqual(expect.arrayContaining(['object', 'created']));
  });

  it('has exactly the public fields, and hides how a model is served', () => {
    for (const entry of body.data)
      expect(Object.keys(entry).sort()).toEqual(
        [
          'id',
          'object',
          'created',
          'name',
          'description',
          'date',
          'context_length',
          'max_completion_tokens',
          'is_moderated',
          'architecture',
          'pricing',
          'reasoning',
          'tool_calls',
          'reasoning_effort',
        ].sort(),
      );
    expect(text).not.toMatch(/upstream|effort_map|starts_in/);
  });

  it.each([
    [
      'aion-3.5',
      1_790_121_600,
      262_144,
      '0.000003',
      '0.000006',
      '0.00000075',
      ['low', 'high', 'max'],
      'high',
    ],
    [
      'aion-3.5-mini',
      1_790_121_600,
      262_144,
      '0.0000007',
      '0.0000014',
      '0.00000018',
      ['low', 'high', 'max'],
      'high',
    ],
    [
      'aion-3.0',
      1_777_939_200,
      131_072,
      '0.000003',
      '0.000006',
      '0.00000075',
      ['none', 'low', 'medium', 'high', 'max'],
      'medium',
    ],
    [
      'aion-3.0-mini',
      1_778_716_800,
      131_072,
      '0.0000007',
      '0.0000014',
      '0.00000018',
      ['none', 'low', 'medium', 'high', 'max'],
      'medium',
    ],
    [
      'aion-2.0',
      1_766_275_200,
      131_072,
      '0.0000008',
      '0.0000016',
      '0.0000002',
      ['none', 'low', 'medium', 'high', 'max'],
      'medium',
    ],
    ['aion-rp-llama-3.1-8b', 1_732_924_800, 32_768, '0.0000008', '0.0000016', undefined, [], null],
  ])(
    'shows %s unchanged',
    (name, created, context_length, prompt, completion, input_cache_read, levels, fallback) => {
      const supported = levels.length > 0;
      expect(body.data.find(({ id }) => id === `aion-labs/${name}`)).toMatchObject({
        object: 'model',
        created,
        context_length,
        max_completion_tokens: 32_768,
        is_moderated: false,
        architecture: { modality: 'text->text' },
        reasoning: supported,
        tool_calls: supported,
        reasoning_effort: { supported, levels, default: fallback },
      });
      const { pricing } = body.data.find(({ id }) => id === `aion-labs/${name}`)!;
      expect(pricing).toEqual({ prompt, completion, ...(input_cache_read && { input_cache_read }) });
    },
  );

  it('has a strong ETag that depends on its content', () => {
    expect(etag).toMatch(/^"[\w-]{20,}"$/);
    expect(answerOf(models).headers.etag).toBe(etag);
    expect(answerOf(models.slice(1)).headers.etag).not.toBe(etag);
  });
});
