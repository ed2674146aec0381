import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import type { ChunkSink } from '../../../../../src/gateway/exchange/stream.ts';
import { metered } from '../../../../../src/gateway/settlement/metered-stream.ts';
import { chunkOf } from '../../../chunk-stream.ts';

const text = (content: string) => chunkOf({ content });

/** A stream that a test pushes, through a meter, into a client that a test controls. */
function streamOver(meter: { chunk?(chunk: Chunk): void; end?(): void } = {}) {
  const seen: unknown[] = [];
  const told: string[] = [];
  const client = { keepsUp: true };
  let into!: ChunkSink;
  const source = {
    pushInto(sink: ChunkSink) {
      into = sink;
      return { resume: () => void told.push('resume'), stop: () => void told.push('stop') };
    },
  };
  const stream = metered(source, {
    chunk: chunk => (meter.chunk ? meter.chunk(chunk) : void seen.push(['counted', chunk])),
    end: () => (meter.end ? meter.end() : void seen.push('counted all')),
  }).pushInto({
    chunk(chunk) {
      seen.push(chunk);
      return client.keepsUp;
    },
    flush: () => client.keepsUp,
    end: () => void seen.push('end'),
    fail: fault => void seen.push(fault),
  });
  return { stream, into, seen, told, client };
}

describe('a metered stream', () => {
  it('counts each chunk before it is passed on, and the end once', () => {
    const { stream, into, seen } = streamOver();
    stream.resume();
    into.chunk(text('a'));
    into.end();
    stream.stop();
    expect(seen).toEqual([['counted', text('a')], text('a'), 'counted all', 'end']);
  });

  it('counts a chunk only after the one before it has passed all stages', () => {
    const { stream, into, seen, told, client } = streamOver();
    stream.resume();
    client.keepsUp = false;
    expect([into.chunk(text('a')), into.chunk(text('b')), into.flush()]).toEqual([false, false, false]);
    into.end();
    expect(seen).toEqual([['counted', text('a')], text('a')]);
    client.keepsUp = true;
    stream.resume();
    expect(seen.slice(2)).toEqual([['counted', text('b')], text('b'), 'counted all', 'end']);
    expect(told).toEqual(['resume']);
  });

  it('stops its source and counts no more when its client leaves', () => {
    const { stream, into, seen, told } = streamOver();
    into.chunk(text('a'));
    stream.stop();
    into.chunk(text('b'));
    into.end();
    expect(seen).toEqual([['counted', text('a')], text('a'), 'counted all']);
    expect(told).toEqual(['stop']);
  });

  it.each([
    ['at a chunk', { chunk: () => fail() }],
    ['at the end', { end: () => fail() }],
  ])('fails with what its meter throws %s', (_, meter) => {
    const { into, seen } = streamOver(meter);
    into.chunk(text('a'));
    into.end();
    expect(seen.at(-1)).toEqual(new TypeError('bug'));
    expect(seen).not.toContain('end');
  });
});

function fail(): never {
  throw new TypeError('bug');
}
