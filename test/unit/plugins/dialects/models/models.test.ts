import { describe, expect, it } from '@jest/globals';
import { models as modelsDialect } from '../../../../../plugins/dialects/models/index.ts';
import { defaultModels } from '../../../../../src/config/example-models.ts';
import { modelSchema } from '../../../../../src/config/model-schema.ts';
import { catalogReader } from '../../../../../src/gateway/accounts/model-lists.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

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
  modelsDialect.create({}, { models: catalog }).answer({}, '/v1/models', sampleExchange());
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
      expect(Object.keys(entry).sort().join(' ')).toBe(
        'architecture context_length created date description id is_moderated max_completion_tokens name object pricing reasoning reasoning_effort tool_calls',
      );
    expect(text).not.toMatch(/upstream|effort_map|starts_in/);
  });

  const all = ['none', 'low', 'medium', 'high', 'max'];
  const three = ['low', 'high', 'max'];
  const large = { prompt: '0.000003', completion: '0.000006', input_cache_read: '0.00000075' };
  const small = { prompt: '0.0000007', completion: '0.0000014', input_cache_read: '0.00000018' };
  const older = { prompt: '0.0000008', completion: '0.0000016' };
  it.each<[string, number, number, object, string[], string | null]>([
    ['aion-3.5', 1_790_121_600, 262_144, large, three, 'high'],
    ['aion-3.5-mini', 1_790_121_600, 262_144, small, three, 'high'],
    ['aion-3.0', 1_777_939_200, 131_072, large, all, 'medium'],
    ['aion-3.0-mini', 1_778_716_800, 131_072, small, all, 'medium'],
    ['aion-2.0', 1_766_275_200, 131_072, { ...older, input_cache_read: '0.0000002' }, all, 'medium'],
    ['aion-rp-llama-3.1-8b', 1_732_924_800, 32_768, older, [], null],
  ])('shows %s unchanged', (name, created, context_length, pricing, levels, fallback) => {
    const supported = levels.length > 0;
    const shown = body.data.find(({ id }) => id === `aion-labs/${name}`)!;
    expect(shown).toMatchObject({
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
    expect(shown.pricing).toEqual(pricing);
  });

  it('has a strong ETag that depends on its content', () => {
    expect(etag).toMatch(/^"[\w-]{20,}"$/);
    expect(answerOf(models).headers.etag).toBe(etag);
    expect(answerOf(models.slice(1)).headers.etag).not.toBe(etag);
  });
});

describe('the catalog of a key that may use some models', () => {
  const [first, second] = models;
  const exchange = sampleExchange();
  exchange.set(catalogReader, {
    id: 'acme',
    plan: undefined,
    model_lists: [[second!.id, 'nothing/*'], ['*']],
  });
  const dialect = modelsDialect.create({}, { models });

  it('has those alone, for no other reader', () => {
    const { body: listed, headers } = dialect.answer({}, '/v1/models', exchange);
    expect((JSON.parse(listed!) as Body).data.map(({ id }) => id)).toEqual([second!.id]);
    expect(headers).toMatchObject({ 'cache-control': 'private, max-age=60', vary: 'authorization' });
    expect(headers.etag).not.toBe(etag);
    expect(dialect.answer({}, `/v1/models/${second!.id}`, exchange).status).toBe(200);
    expect(() => dialect.answer({}, `/v1/models/${first!.id}`, exchange)).toThrow('does not exist');
  });
});
