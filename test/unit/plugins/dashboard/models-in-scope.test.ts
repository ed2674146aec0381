import { expect, it } from '@jest/globals';
import { chatModelsInScope, modelsInScope } from '../../../../plugins/dashboard/models-in-scope.ts';
import { sampleModel } from '../../sample-exchange.ts';

it('offers a customer what the account and those above it may use', async () => {
  const models = ['a/1', 'a/2', 'b/1'].map(id => sampleModel({ id }));
  const stored = new Map([['org', { id: 'org', parent: null, models: ['*/1', 'a/*'] }]]);
  const context = {
    catalog: { models },
    settings: { stages: [] },
    configured: { findById: (id: string) => (id === 'given' ? { id, model_lists: [['b/*']] } : undefined) },
    records: { store: { accounts: { find: async (id: string) => stored.get(id) } } },
  };
  const offered = async (account: object) =>
    (await modelsInScope({ context, scope: { account } } as never)).map(({ id }) => id);
  expect(await offered({ id: 'acme', parent: null, models: null })).toEqual(['a/1', 'a/2', 'b/1']);
  expect(await offered({ id: 'acme', parent: 'org', models: ['a/2', 'b/1'] })).toEqual(['a/2']);
  expect(await offered({ id: 'given' })).toEqual(['b/1']);
});

it('offers a chat with those models that serve one', async () => {
  const models = [undefined, ['chat', 'rerank'], ['embeddings']].map((operations, at) =>
    sampleModel({ id: `a/${at}`, operations }),
  );
  const request = { context: { catalog: { models } }, scope: {} } as never;
  expect(await modelsInScope(request)).toEqual(models);
  expect(await chatModelsInScope(request)).toEqual(models.slice(0, 2));
});
