import { describe, expect, it } from '@jest/globals';
import { responses } from '../../../../../plugins/dialects/responses/index.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';

const dialect = responses.create({ reasoning_placement: 'auto' }, { models: [] });
const parse = (fields: object): ChatRequest =>
  dialect.parse({ model: 'a/b', ...fields }, { path: '/v1/responses', headers: {}, account_id: undefined });
const tool = (name: string, description?: string) => ({ type: 'function', name, description });
const namespace = (name: string, ...tools: object[]) => ({ type: 'namespace', name, description: '', tools });
const hello = { role: 'user', content: 'Hello' };
const added = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools });

describe('tools that items of the input bring', () => {
  it.each<[string, object, string[]]>([
    [
      'with none declared',
      { input: [added(namespace('functions', { type: 'custom', name: 'exec' })), hello] },
      ['functions__exec'],
    ],
    ['beside those declared', { tools: [tool('map')], input: [hello, added(tool('list'))] }, ['map', 'list']],
    [
      'once, as every turn sends them again',
      { input: [added(tool('map')), hello, added(tool('map'))] },
      ['map'],
    ],
    [
      'each of a namespace that is brought in parts',
      {
        input: [
          added(namespace('crm', tool('find'))),
          hello,
          added(namespace('crm', tool('find'), tool('add'))),
        ],
      },
      ['crm__find', 'crm__add'],
    ],
    [
      'by a search for tools',
      { input: [hello, { type: 'tool_search_output', call_id: 'c', tools: [tool('map')] }] },
      ['map'],
    ],
  ])('are declared to the upstream %s', (_, fields, names) => {
    expect(parse(fields).tools?.map(({ function: { name } }) => name)).toEqual(names);
  });

  it('are as the last item has them, and say nothing of themselves to the model', () => {
    const { tools, messages } = parse({
      input: [added(tool('map', 'Old.')), added(tool('map', 'New.')), hello],
    });
    expect(tools).toMatchObject([{ function: { description: 'New.' } }]);
    expect(messages).toEqual([hello]);
  });

  it('are refused where they stand', () => {
    const found = { type: 'tool_search_output', call_id: 'c', tools: [tool('')] };
    for (const item of [added(tool('')), found])
      expect(() => parse({ input: [hello, item] })).toThrow(/input\[1\]\.tools\[0\]\.name/);
  });
});
