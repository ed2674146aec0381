import { describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../../../src/config/example-models.ts';
import { modelSchema } from '../../../../src/config/model-schema.ts';
import { Catalog } from '../../../../src/gateway/catalog/catalog.ts';
import { sampleModel } from '../../sample-exchange.ts';

const [first] = defaultModels('local');
const faults = (changes: object): string[] =>
  (modelSchema.safeParse({ ...first, ...changes }).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );

describe('the model schema', () => {
  it.each(defaultModels('local'))('accepts the model of the example catalog: $id', model => {
    expect(modelSchema.safeParse(model).success).toBe(true);
  });

  it('fills in neutral defaults', () => {
    const { description: _, is_moderated: __, architecture: ___, ...least } = first!;
    expect(modelSchema.parse(least)).toMatchObject({
      description: '',
      is_moderated: false,
      architecture: { modality: 'text->text' },
      starts_in_reasoning: false,
      effort_map: {},
      on_client_gone: 'complete',
      upstreams: [{ provider: 'local', model: 'aion-3.5', priority: 1, weight: 1 }],
    });
  });

  it.each<[object, string | RegExp]>([
    [{ id: 'aion' }, 'id: must have the form <vendor>/<model_name>'],
    [{ id: 'a /b' }, 'id: must have the form <vendor>/<model_name>'],
    [{ id: 'a/' }, 'id: must have the form <vendor>/<model_name>'],
    [{ date: '2026-02-30' }, /^date: /],
    [{ date: '23.09.2026' }, /^date: /],
    [{ context_length: 0 }, /^context_length: /],
    [{ max_completion_tokens: 1.5 }, /^max_completion_tokens: /],
    [{ architecture: { modality: 'text' } }, 'architecture.modality: must have the form <input>-><output>'],
    [{ pricing: { prompt: 0.1, completion: '1' } }, /^pricing\.prompt: /],
    [
      { pricing: { prompt: '1e-7', completion: '1' } },
      /^pricing\.prompt: must be a decimal string without exponent/,
    ],
    [{ pricing: { prompt: '-1', completion: '1' } }, /^pricing\.prompt: must be a decimal string/],
    [{ pricing: { prompt: '.1', completion: '1' } }, /^pricing\.prompt: must be a decimal string/],
    [{ upstreams: [] }, 'upstreams: must name at least one upstream'],
    [{ upstreams: [{ provider: 'a', model: 'b', priority: 0 }] }, /^upstreams\.0\.priority: /],
    [{ upstreams: [{ provider: 'a', model: 'b', weight: 0 }] }, /^upstreams\.0\.weight: /],
    [{ starts_in_reasoning: 'no' }, 'starts_in_reasoning: must be true, false or "auto"'],
    [{ on_client_gone: 'wait' }, /^on_client_gone: /],
  ])('rejects %j', (changes, expected) => {
    expect(faults(changes)).toEqual([
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    ]);
  });

  it.each<[object, string[]]>([
    [{ supported: false, levels: [], default: null }, []],
    [{ supported: true, levels: ['low'], default: 'low' }, []],
    [
      { supported: false, levels: ['low'], default: 'low' },
      [
        'reasoning_effort.levels: must be empty when supported is false',
        'reasoning_effort.default: must be null when supported is false',
      ],
    ],
    [
      { supported: true, levels: ['low', 'high'], default: 'medium' },
      ['reasoning_effort.default: must be one of levels: low, high'],
    ],
    [
      { supported: true, levels: ['low'], default: null },
      ['reasoning_effort.default: must be one of levels: low'],
    ],
    [
      { supported: true, levels: [], default: null },
      [
        'reasoning_effort.levels: must name at least one level when supported is true',
        'reasoning_effort.default: must be one of levels: (none)',
      ],
    ],
  ])('checks that its reasoning efforts are consistent: %j', (reasoning_effort, expected) => {
    expect(faults({ reasoning_effort })).toEqual(expected);
  });
});

describe('the catalog', () => {
  const catalog = new Catalog([sampleModel(), sampleModel({ id: 'a/other' })]);

  it('finds a model by its exact id only', () => {
    expect(catalog.find('a/other')).toBe(catalog.models[1]);
    for (const id of ['A/other', 'other', 'a/other ', '', '__proto__', 'constructor'])
      expect(catalog.find(id)).toBeUndefined();
  });
});
