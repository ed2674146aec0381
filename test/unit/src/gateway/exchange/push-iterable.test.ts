import { expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { pushIterable } from '../../../../../src/gateway/exchange/push-iterable.ts';
import { chunkOf } from '../../../chunk-stream.ts';

const turn = () => new Promise(setImmediate);

it.each<[string, (next: PromiseWithResolvers<IteratorResult<Chunk>>) => void]>([
  ['a chunk', next => next.resolve({ value: chunkOf({ content: 'late' }), done: false })],
  ['the end', next => next.resolve({ value: undefined, done: true })],
  ['a fault', next => next.reject(new Error('late'))],
])('tells a sink that has stopped nothing more: %s that comes late', async (_, come) => {
  const told: string[] = [];
  const next = Promise.withResolvers<IteratorResult<Chunk>>();
  const iterator = { next: () => next.promise, return: async () => void told.push('closed') };
  const chunks = { [Symbol.asyncIterator]: () => iterator } as unknown as AsyncIterable<Chunk>;
  const note = (what: string) => () => told.push(what) > 0;
  const sink = { chunk: note('chunk'), flush: note('flush'), end: note('end'), fail: note('fail') };
  const stream = pushIterable(chunks).pushInto(sink as never);
  stream.resume();
  stream.stop();
  stream.stop();
  come(next);
  await turn();
  expect(told).toEqual(['closed']);
});
