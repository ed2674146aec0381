import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/canonical.ts';
import { ChunkFeed, type ChunkObserver } from '../../../../../src/upstream/attempt/chunk-feed.ts';
import { chunkOf, collected } from '../../../chunk-stream.ts';

const text = (content: string): Chunk => chunkOf({ content });
const quiet: ChunkObserver = { chunk() {}, end() {} };

function feedWith(observer: ChunkObserver = quiet) {
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(what);
  const feed = new ChunkFeed(
    { begin: tell('begin'), drained: tell('drained'), left: tell('left') },
    observer,
  );
  return { feed, told };
}

describe('a feed', () => {
  it('begins when it is first asked, and gives what came before and after that', async () => {
    const { feed, told } = feedWith();
    feed.push([text('a'), text('b')]);
    expect(told).toEqual([]);
    const all = collected(feed);
    feed.push([text('c')]);
    await new Promise(setImmediate);
    feed.push([text('d'), text('e')]);
    feed.end();
    expect((await all).chunks).toEqual(['a', 'b', 'c', 'd', 'e'].map(text));
    expect(told[0]).toBe('begin');
    expect(told).toContain('drained');
    expect(feed.unread).toBe(0);
  });

  it('gives what waits before a fault, and the fault once', async () => {
    const { feed } = feedWith();
    feed.push([text('a')]);
    const fault = new Error('broken');
    feed.fail(fault);
    feed.fail(new Error('later'));
    feed.push([text('late')]);
    expect(await collected(feed)).toEqual({ chunks: [text('a')], fault });
    expect(await feed.next()).toEqual({ value: undefined, done: true });
  });

  it('lets its observer see each chunk when it is handed on, and the end once', async () => {
    const seen: unknown[] = [];
    const { feed } = feedWith({ chunk: chunk => seen.push(chunk), end: () => seen.push('end') });
    feed.push([text('a'), text('b')]);
    await feed.next();
    expect(seen).toEqual([text('a')]);
    feed.end();
    await collected(feed);
    await feed.return();
    expect(seen).toEqual([text('a'), text('b'), 'end']);
  });

  it('tells its producer when the reader leaves', async () => {
    const { feed, told } = feedWith();
    feed.push([text('a'), text('b')]);
    for await (const _ of feed) break;
    expect(told).toContain('left');
    expect((await feed.next()).done).toBe(true);
  });

  it('has no fault for a reader that left before it came to it', async () => {
    const { feed } = feedWith();
    feed.push([text('a'), text('b')]);
    feed.fail(new Error('broken'));
    await feed.next();
    expect(await feed.return()).toEqual({ value: undefined, done: true });
    expect(await feed.next()).toEqual({ value: undefined, done: true });
  });

  it.each<[string, Partial<ChunkObserver>, boolean]>([
    ['at a chunk that waited', { chunk: () => fail() }, true],
    ['at a chunk that was waited for', { chunk: () => fail() }, false],
    ['at the end', { end: () => fail() }, true],
  ])('ends with what its observer throws %s, and leaves no reader waiting', async (_, faulty, first) => {
    const { feed } = feedWith({ ...quiet, ...faulty });
    if (first) feed.push([text('a')]);
    const all = collected(feed);
    if (!first) feed.push([text('a')]);
    feed.end();
    expect((await all).fault).toEqual(new TypeError('bug'));
  });
});

function fail(): never {
  throw new TypeError('bug');
}
