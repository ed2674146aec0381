import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { catalogTemplate } from '../../../../../src/cli/init/catalog-template.ts';
import { discoveredModels } from '../../../../../src/mount/provider-check/discovered-model.ts';

const template = (...entries: object[]): string =>
  catalogTemplate('local', discoveredModels(entries), '2026-11-20');
const modelOf = (entry: object) => parse(template(entry)).models[0];

describe('the catalog that is written for a server', () => {
  it('has a comment above what the server has not reported, and none above what it has', () => {
    const told = {
      ...{ id: 'v/m', created: 1769904000, context_length: 8192, max_tokens: 2048 },
      ...{ supported_parameters: ['tools'], pricing: { prompt: '1', completion: '2' } },
    };
    expect(template(told)).not.toContain('#');
    const unknown = template({ id: 'v/m' });
    for (const field of [
      'date',
      'context_length',
      'max_completion_tokens',
      'pricing',
      'reasoning',
      'tool_calls',
    ])
      expect(unknown).toMatch(new RegExp(`# not reported by the server.*\\n +${field}:`));
    expect(unknown.match(/#/g)).toHaveLength(6);
    expect(template({ id: 'v/m', pricing: { prompt: '1' } })).toContain('nothing is charged until');
    expect(template({ id: 'v/a' }, { id: 'v/b' })).toMatch(/\n\n +- id: v\/b/);
  });

  it.each<[string, object, object]>([
    [
      'a path as its name',
      { id: '/models/my model.gguf' },
      { id: 'local/my-model.gguf', name: 'my model.gguf' },
    ],
    ['what would be a variable literally', { id: '${A}' }, { id: 'local/$${A}', name: '$${A}' }],
    [
      'a small window as the largest completion',
      { id: 'm', context_length: 2048 },
      { max_completion_tokens: 2048 },
    ],
    [
      'a family that always reasons',
      { id: 'gpt-oss' },
      { reasoning_effort: { levels: ['low', 'medium', 'high'] } },
    ],
    [
      'a family that can be off',
      { id: 'qwen3' },
      { reasoning_effort: { levels: ['none', 'low', 'medium', 'high'] } },
    ],
    [
      'a template that begins to reason',
      { id: 'deepseek-r1' },
      { starts_in_reasoning: 'auto', reasoning: true },
    ],
    ['a model that is said not to reason', { id: 'qwq', supported_parameters: [] }, { reasoning: false }],
    [
      'unknown tool calls as usual',
      { id: 'm' },
      { tool_calls: true, context_length: 8192, date: '2026-11-20' },
    ],
  ])('takes %s', (_, entry, expected) => {
    expect(modelOf(entry)).toMatchObject(expected);
  });

  it('gives two models of one name different ids, and the name there to the upstream', () => {
    const { models } = parse(template({ id: '/a/m' }, { id: '/b/m' }, { id: '${m}' }));
    expect(models.map(({ id }: { id: string }) => id)).toEqual(['local/m', 'local/m-2', 'local/$${m}']);
    expect(models[2].upstreams).toEqual([{ provider: 'local', model: '$${m}' }]);
  });
});
