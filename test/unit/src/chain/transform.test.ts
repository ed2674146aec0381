import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../../src/canonical.ts';
import { type ChunkTransform, transformed } from '../../../../src/chain/transform.ts';
import { chunkOf, collected, streamOf } from '../../chunk-stream.ts';

const text = (content: string) => chunkOf({ content });

/** Holds every second chunk back until the next one comes. */
const pairs = (): ChunkTransform => {
  let held: Chunk | undefined;
  return {
    chunk(chunk) {
      if (held) {
        const both = [held, chunk];
        held = undefined;
        return both;
      }
      held = chunk;
      return [];
    },
    rest: isFault => (held ? [held, ...(isFault ? [text('!')] : [])] : []),
  };
};

describe('a transformed stream', () => {
  it('gives what becomes of each chunk, and what was held back at the end', async () => {
    const { chunks, fault } = await collected(transformed(streamOf(['a', 'b', 'c'].map(text)), pairs()));
    expect(chunks).toEqual(['a', 'b', 'c'].map(text));
    expect(fault).toBeUndefined();
  });

  it('hands the same chunk on where it stays as it is', async () => {
    const chunk = text('a');
    const same: ChunkTransform = { chunk: given => given, rest: () => [] };
    expect((await collected(transformed(streamOf([chunk]), same))).chunks[0]).toBe(chunk);
  });

  it('gives what was held back before the fault of what is below, which it does not change', async () => {
    const broken = new Error('broken');
    const { chunks, fault } = await collected(transformed(streamOf([text('a')], broken), pairs()));
    expect(chunks).toEqual([text('a'), text('!')]);
    expect(fault).toBe(broken);
  });

  it.each<[string, Partial<ChunkTransform>]>([
    ['a chunk', { chunk: () => fail() }],
    ['the end', { rest: () => fail() }],
  ])('ends with what its transform throws at %s, and closes its source', async (_, faulty) => {
    let closed = false;
    async function* source() {
      try {
        yield text('a');
      } finally {
        closed = true;
      }
    }
    const { fault } = await collected(
      transformed(source(), { chunk: given => given, rest: () => [], ...faulty }),
    );
    expect(fault).toEqual(new TypeError('bug'));
    expect(closed).toBe(true);
  });

  /** A source that closes when `closing` lets it. */
  const closingOn = (closing: () => Promise<unknown>): AsyncIterable<Chunk> => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ value: text('a'), done: false }),
      return: async () => {
        await closing();
        return { value: undefined, done: true };
      },
    }),
  });
  const faulty: ChunkTransform = { chunk: () => fail(), rest: () => [] };

  it('ends with what its transform throws only when its source has closed', async () => {
    const closing = Promise.withResolvers<void>();
    let ended = false;
    const all = collected(
      transformed(
        closingOn(() => closing.promise),
        faulty,
      ),
    ).finally(() => {
      ended = true;
    });
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    closing.resolve();
    expect((await all).fault).toEqual(new TypeError('bug'));
  });

  it('ends with what its transform throws when its source fails to close', async () => {
    const failing = transformed(
      closingOn(() => Promise.reject(new Error('stuck'))),
      faulty,
    );
    expect((await collected(failing)).fault).toEqual(new TypeError('bug'));
  });

  it('closes its source when its reader leaves, and gives nothing after that', async () => {
    let closed = false;
    async function* source() {
      try {
        for (;;) yield text('a');
      } finally {
        closed = true;
      }
    }
    const stream = transformed(source(), { chunk: given => [given, given], rest: () => [text('late')] });
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    expect(closed).toBe(true);
    expect(await iterator.next()).toEqual({ value: undefined, done: true });
  });

  it('ends once', async () => {
    const iterator = transformed(streamOf([]), pairs())[Symbol.asyncIterator]();
    expect((await iterator.next()).done).toBe(true);
    expect((await iterator.next()).done).toBe(true);
  });
});

function fail(): never {
  throw new TypeError('bug');
}
