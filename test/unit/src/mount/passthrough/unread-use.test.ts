import { expect, it } from '@jest/globals';
import { ServedModels } from '../../../../../src/mount/passthrough/served-models.ts';
import { mostUseOf } from '../../../../../src/mount/passthrough/unread-use.ts';
import { sampleModel } from '../../../sample-exchange.ts';

const pricing = { prompt: '0.000001', completion: '0.000002' };
const upstreams = [{ provider: 'gpu', model: 'small', priority: 1, weight: 1 }];
const model = sampleModel({
  id: 'a/small',
  pricing,
  upstreams,
  context_length: 1000,
  max_completion_tokens: 100,
});
const models = new ServedModels([model], 'gpu');

it.each<[string, Record<string, string>, number | undefined, number | undefined]>([
  ['/v1/completions', { 'content-length': '400' }, 300, 400_000],
  ['/v1/embeddings', { 'content-length': '400' }, 200, 200_000],
  ['/v1/completions', { 'content-length': '400', 'content-encoding': 'gzip' }, 500, 600_000],
  ['/v1/completions', { 'content-length': '400', 'content-encoding': 'identity' }, 300, 400_000],
  [
    '/v1/audio/transcriptions',
    { 'content-length': '4001', 'content-type': 'multipart/form-data' },
    109,
    209_000,
  ],
  ['/v1/completions', { 'content-length': '9999999' }, 1100, 1_200_000],
  ['/v1/completions', {}, 1100, 1_200_000],
  ['/v1/files', { 'content-length': '400' }, undefined, undefined],
])('is the most that a call of %s with %j may use', (path, headers, tokens, nano_usd) => {
  expect(mostUseOf({ path, headers }, models)).toEqual(
    tokens === undefined ? undefined : { tokens, nano_usd },
  );
});

it('has the price of a call in it, by which models are dear as well', () => {
  const called = { ...model, id: 'a/called', pricing: { ...pricing, request: '0.5' } };
  const priced = new ServedModels([called, model], 'gpu');
  expect(priced.dearest).toBe(called);
  const use = mostUseOf({ path: '/v1/embeddings', headers: { 'content-length': '0' } }, priced);
  expect(use).toEqual({ tokens: 0, nano_usd: 500_000_000 });
});
