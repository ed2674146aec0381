import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { responseCache } from '../../../../../plugins/stages/response-cache/index.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { outcomeOf } from '../../../../../src/gateway/settlement/settle.ts';
import { modelBeforeFallback } from '../../../../../src/mount/fallback/model-filter.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

it.each([
  ['caches the answer of the model that was asked', undefined, 'hit'],
  ['does not cache that of another model that took its place', 'v/asked', 'miss'],
])('%s', async (_, before, second) => {
  const stage = responseCache({ shared: true }).plan.create(sampleSetup());
  const asked = async () => {
    const exchange = sampleExchange({ request: {}, model: {} });
    await stage.onRequest!(exchange);
    return exchange;
  };
  const first = await asked();
  if (before !== undefined) first.set(modelBeforeFallback, before);
  const message = { role: 'assistant' as const, content: 'Water cuts.' };
  stage.onReply!(first, { choices: [{ index: 0, message, finish_reason: 'stop' }], usage: usageOf(1, 1) });
  first.end.replied(200);
  first.end.replyEnded();
  stage.onSettled!(first, outcomeOf(first));
  await setImmediate();
  expect((await asked()).replyHeaders['x-cache']).toBe(second);
});
