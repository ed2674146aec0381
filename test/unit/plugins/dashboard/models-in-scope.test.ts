import { expect, it } from '@jest/globals';
import { chatModelsInScope, modelsInScope } from '../../../../plugins/dashboard/models-in-scope.ts';
import { sampleModel } from '../../sample-exchange.ts';

it('offers a chat with those models that serve one', async () => {
  const models = [undefined, ['chat', 'rerank'], ['embeddings']].map((operations, at) =>
    sampleModel({ id: `a/${at}`, operations }),
  );
  const request = { context: { catalog: { models } }, scope: {} } as never;
  expect(await modelsInScope(request)).toEqual(models);
  expect(await chatModelsInScope(request)).toEqual(models.slice(0, 2));
});
