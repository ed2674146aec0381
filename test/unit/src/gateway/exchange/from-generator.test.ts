import { expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { fromGenerator } from '../../../../../src/gateway/exchange/from-generator.ts';
import { chunkOf, collected, streamOf, transformed } from '../../../chunk-stream.ts';

const chunks = ['a', 'b', 'c'].map(content => chunkOf({ content }));

it('serves a generator that reads two chunks at once, and once more after the end', async () => {
  const paired = fromGenerator(async function* (given) {
    const iterator = given[Symbol.asyncIterator]();
    for (let pairs = 0; pairs < 2; pairs++) {
      const pair = await Promise.all([iterator.next(), iterator.next()]);
      for (const { done, value } of pair) if (!done) yield value as Chunk;
    }
    if (!(await iterator.next()).done) throw new Error('more came');
  });
  expect(await collected(transformed(streamOf(chunks), paired))).toEqual({ chunks, fault: undefined });
});
