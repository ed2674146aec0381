import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Chunk } from '../../../../src/canonical.ts';
import { Chain } from '../../../../src/chain/chain.ts';
import { type ChunkTransform, transformed } from '../../../../src/chain/transform.ts';
import { flowInto } from '../../../../src/flow.ts';
import { type Outlet, pump } from '../../../../src/outbound/pump.ts';
import type { Stage } from '../../../../src/stage.ts';
import { ChunkFeed } from '../../../../src/upstream/attempt/chunk-feed.ts';
import { chunkOf } from '../../chunk-stream.ts';
import { sampleExchange } from '../../sample-exchange.ts';

const textOf = ({ choices }: Chunk): string => choices[0]!.delta.content!;
const saying = (content: string): Chunk => chunkOf({ content });

/** What a stage does to texts; `at` says when, where it does it once. */
const transforms: Record<string, (at: number) => ChunkTransform> = {
  mark: () => ({ chunk: chunk => saying(`${textOf(chunk)}'`), rest: () => [] }),
  double: () => ({ chunk: chunk => [chunk, chunk], rest: isFault => (isFault ? [] : [saying('more')]) }),
  drop: at => {
    let seen = 0;
    return { chunk: chunk => (seen++ === at ? [] : chunk), rest: () => [] };
  },
  hold: () => {
    let held: Chunk[] = [];
    return {
      chunk: chunk => (held.push(chunk) < 3 ? [] : held.splice(0)),
      rest: () => {
        const rest = held;
        held = [];
        return rest;
      },
    };
  },
  throw: at => {
    let seen = 0;
    return {
      chunk(chunk) {
        if (seen++ === at) throw new Error('a stage');
        return chunk;
      },
      rest: () => [saying('rest')],
    };
  },
  'throw at the end': () => ({
    chunk: chunk => chunk,
    rest() {
      throw new Error('the rest of a stage');
    },
  }),
};
const generator: Stage = {
  name: 'generator',
  async *onStream(_, chunks) {
    yield* chunks;
  },
};

interface Script {
  readonly stages: readonly { kind: string; at: number }[];
  readonly batches: readonly (readonly string[])[];
  readonly end: 'end' | 'fail';
  readonly observerThrowsAt: number;
  readonly outletThrowsAt: number;
  readonly closesAt: number;
  /** After which flushes the outlet is full. */
  readonly fullAt: readonly number[];
}

const never = 1000;
const seldom = fc.oneof({ weight: 4, arbitrary: fc.constant(never) }, fc.nat(12));
const scripts: fc.Arbitrary<Script> = fc.record({
  stages: fc.array(
    fc.record({ kind: fc.constantFrom(...Object.keys(transforms), 'generator', 'nothing'), at: fc.nat(8) }),
    { maxLength: 4 },
  ),
  batches: fc.array(fc.array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 4 }), { maxLength: 8 }),
  end: fc.constantFrom('end', 'fail'),
  observerThrowsAt: seldom,
  outletThrowsAt: seldom,
  closesAt: seldom,
  fullAt: fc.array(fc.nat(8), { maxLength: 4 }),
});

const stageOf = ({ kind, at }: Script['stages'][number]): Stage =>
  kind === 'generator'
    ? generator
    : kind === 'nothing'
      ? { name: kind, onStream: (_, chunks) => chunks }
      : { name: kind, onStream: (_, chunks) => transformed(chunks, transforms[kind]!(at)) };

/** Takes what comes, as the script says. */
function outletOf({ outletThrowsAt, closesAt, fullAt }: Script) {
  const taken: string[] = [];
  let flushes = 0;
  const outlet: Outlet & { closed: boolean } = {
    closed: false,
    chunk(chunk) {
      if (outlet.closed) return;
      if (taken.length === outletThrowsAt) throw new Error('the outlet');
      taken.push(textOf(chunk));
      outlet.closed = taken.length > closesAt;
    },
    flush: () => (fullAt.includes(flushes++) ? turn().then(() => undefined) : undefined),
    flushSoon: () => outlet.flush(),
  };
  return { taken, outlet };
}

/** Plays the script, with the stream flowing where it can, or read. */
async function play(script: Script, way: 'flows' | 'is read') {
  const told: string[] = [];
  let observed = 0;
  const feed: ChunkFeed = new ChunkFeed(
    { begin: () => told.push('begin'), drained() {}, left: () => told.push('left') },
    {
      chunk() {
        if (observed++ === script.observerThrowsAt) throw new Error('the observer');
      },
      end() {},
    },
  );
  const passage = new Chain(script.stages.map(stageOf)).enter(sampleExchange({ request: {} }));
  const stream = passage.onStream(feed);
  const { taken, outlet } = outletOf(script);
  const read: AsyncIterable<Chunk> = { [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() };
  let outcome = 'under way';
  const pumped = pump(way === 'flows' ? stream : read, outlet).then(
    () => (outcome = 'ended'),
    (fault: Error) => (outcome = fault.message),
  );
  await turn();
  for (const batch of script.batches) {
    feed.push(batch.map(saying));
    for (let wait = 0; wait < 6; wait++) await turn();
  }
  if (script.end === 'end') feed.end();
  else feed.fail(new Error('the upstream'));
  await pumped;
  return { taken, outcome, begun: told.includes('begin'), left: told.includes('left') };
}

describe('a stream that flows', () => {
  it('arrives as one that is read, whatever stages, producer and outlet do', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, async script => {
        expect(await play(script, 'flows')).toEqual(await play(script, 'is read'));
      }),
      { numRuns: 300 },
    );
  }, 60_000);

  it('does so through stages that are transforms, and through no stage, only', () => {
    const flowsThrough = (...kinds: readonly string[]): boolean => {
      const feed = new ChunkFeed({ begin() {}, drained() {}, left() {} }, { chunk() {}, end() {} });
      const stages = kinds.map(kind => stageOf({ kind, at: 0 }));
      const stream = new Chain(stages).enter(sampleExchange({ request: {} })).onStream(feed);
      const sink = { chunk() {}, flush: () => true, end() {}, fail() {} };
      return flowInto(stream, sink) !== undefined;
    };
    expect(flowsThrough()).toBe(true);
    expect(flowsThrough('mark', 'hold', 'nothing', 'double')).toBe(true);
    expect(flowsThrough('mark', 'generator', 'double')).toBe(false);
  });

  it('holds its producer back while the outlet is full, and not longer', async () => {
    const told: string[] = [];
    const feed = new ChunkFeed(
      { begin: () => told.push('begin'), drained: () => told.push('drained'), left: () => told.push('left') },
      { chunk() {}, end() {} },
    );
    const drains: (() => void)[] = [];
    let written = '';
    let unwritten = '';
    const pumped = pump(feed, {
      closed: false,
      chunk: chunk => void (unwritten += textOf(chunk)),
      flush() {
        written += unwritten;
        unwritten = '';
        return drains.length < 2 ? new Promise(resolve => void drains.push(resolve)) : undefined;
      },
      flushSoon: () => undefined,
    });
    await turn();
    expect(feed.hasRoom).toBe(true);
    feed.push([saying('a')]);
    feed.push([saying('b')]);
    expect({ hasRoom: feed.hasRoom, written, told }).toEqual({
      hasRoom: false,
      written: 'a',
      told: ['begin'],
    });
    drains[0]!();
    await turn();
    // What was on its way goes out, and fills the outlet again.
    expect({ hasRoom: feed.hasRoom, written, told }).toEqual({
      hasRoom: false,
      written: 'ab',
      told: ['begin'],
    });
    drains[1]!();
    await turn();
    expect({ hasRoom: feed.hasRoom, told }).toEqual({ hasRoom: true, told: ['begin', 'drained'] });
    feed.push([saying('c')]);
    feed.end();
    await pumped;
    expect(written).toBe('abc');
  });

  it('ends when its outlet has room again, as whoever reads would', async () => {
    const feed = new ChunkFeed({ begin() {}, drained() {}, left() {} }, { chunk() {}, end() {} });
    let drain = () => {};
    let ended = false;
    const wait = new Promise<void>(resolve => (drain = resolve));
    const outlet = { closed: false, chunk() {}, flush: () => wait, flushSoon: () => undefined };
    const pumped = pump(feed, outlet).then(() => (ended = true));
    await turn();
    feed.push([saying('a')]);
    feed.end();
    await turn();
    expect(ended).toBe(false);
    drain();
    await pumped;
  });
});
