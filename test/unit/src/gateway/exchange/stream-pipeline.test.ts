import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { Chain } from '../../../../../src/gateway/exchange/chain.ts';
import { fromGenerator } from '../../../../../src/gateway/exchange/from-generator.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import type {
  ChunkMeter,
  ChunkSink,
  StreamController,
  StreamTransformer,
} from '../../../../../src/gateway/exchange/stream.ts';
import { chunkOf, collected, streamOf, transformed } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const text = (content: string) => chunkOf({ content });
const textsOf = (chunks: readonly Chunk[]) => chunks.map(({ choices }) => choices[0]!.delta.content);

/** Holds every second chunk back until the next one comes. */
const pairs = (): StreamTransformer => {
  let held: Chunk | undefined;
  return {
    transform(chunk, controller) {
      if (!held) {
        held = chunk;
        return;
      }
      controller.enqueue(held);
      controller.enqueue(chunk);
      held = undefined;
    },
    flush(controller) {
      if (held) controller.enqueue(held);
    },
  };
};
const passing: StreamTransformer = { transform: (chunk, controller) => controller.enqueue(chunk) };

/** A stream that a test pushes through these transformers, and what comes out of it. */
const pushedThrough = (...transformers: readonly StreamTransformer[]) =>
  countedThrough(undefined, transformers);

/** The same through a meter first. */
function countedThrough(meter: ChunkMeter | undefined, transformers: readonly StreamTransformer[] = []) {
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
  const stages = transformers.map(
    (transformer, at): Stage => ({ name: `s${at}`, onStream: () => transformer }),
  );
  const run = new Chain(stages).enter(sampleExchange({ request: {} }));
  const stream = run.onStream(source, meter).pushInto({
    chunk: chunk => void seen.push(chunk.choices[0]!.delta.content),
    flush: () => client.keepsUp,
    end: () => void seen.push('end'),
    fail: fault => void seen.push(fault),
  });
  stream.resume();
  return { into, seen, told, client, stream };
}

describe('a counted stream', () => {
  const counting = () => {
    const counted: unknown[] = [];
    const meter = {
      chunk: (chunk: Chunk) => void counted.push(...textsOf([chunk])),
      end: () => void counted.push('end'),
    };
    return { counted, meter };
  };

  it('counts each chunk before it is passed on, and the end once', () => {
    const { counted, meter } = counting();
    const seenBy: unknown[][] = [];
    const first: StreamTransformer = { transform: () => void seenBy.push([...counted]) };
    const { stream, into } = countedThrough(meter, [first]);
    into.chunk(text('a'));
    into.end();
    stream.stop();
    expect([seenBy, counted]).toEqual([[['a']], ['a', 'end']]);
  });

  it('counts a chunk only after the stages have done with the one before it', async () => {
    const gates: (() => void)[] = [];
    const waiting: StreamTransformer = {
      async transform(chunk, controller) {
        await new Promise<void>(open => gates.push(open));
        controller.enqueue(chunk);
      },
    };
    const { counted, meter } = counting();
    const { into, seen, told } = countedThrough(meter, [passing, waiting]);
    for (const piece of ['a', 'b', 'c']) into.chunk(text(piece));
    into.flush();
    into.end();
    expect(counted).toEqual(['a']);
    for (const so_far of [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]) {
      gates.shift()!();
      await turn();
      expect(counted).toEqual(so_far);
    }
    gates.shift()!();
    await turn();
    expect(seen).toEqual(['a', 'b', 'c', 'end']);
    expect([counted.at(-1), told]).toEqual(['end', ['resume']]);
  });

  it('stops its source and counts no more when its client leaves', () => {
    const { counted, meter } = counting();
    const { stream, into, seen, told } = countedThrough(meter);
    into.chunk(text('a'));
    stream.stop();
    into.chunk(text('b'));
    into.end();
    expect([seen, counted, told]).toEqual([['a'], ['a', 'end'], ['resume', 'stop']]);
  });

  it.each<[string, Partial<ChunkMeter>]>([
    ['at a chunk', { chunk: () => fail() }],
    ['at the end', { end: () => fail() }],
  ])('fails with what its meter throws %s', (_, faulty) => {
    const { into, seen } = countedThrough({ ...counting().meter, ...faulty });
    into.chunk(text('a'));
    into.end();
    expect(seen.at(-1)).toEqual(new TypeError('bug'));
    expect(seen).not.toContain('end');
  });
});

describe('a stream through transformers', () => {
  it('yields the result of each chunk, then what was held back', async () => {
    const { chunks, fault } = await collected(transformed(streamOf(['a', 'b', 'c'].map(text)), pairs()));
    expect(textsOf(chunks)).toEqual(['a', 'b', 'c']);
    expect(fault).toBeUndefined();
  });

  it('passes on the same chunk where no transformer changes it', async () => {
    const chunk = text('a');
    expect((await collected(transformed(streamOf([chunk]), passing))).chunks[0]).toBe(chunk);
  });

  it('passes a chunk through synchronous transformers within one turn', () => {
    const { into, seen } = pushedThrough(passing, pairs(), passing);
    into.chunk(text('a'));
    into.chunk(text('b'));
    expect(into.flush()).toBe(true);
    expect(seen).toEqual(['a', 'b']);
  });

  it.each<[string, Partial<StreamTransformer>]>([
    ['the start', { start: () => fail() }],
    ['a chunk', { transform: () => fail() }],
    ['a chunk asynchronously', { transform: async () => fail() }],
    ['the end', { flush: () => fail() }],
    ['the end asynchronously', { flush: async () => fail() }],
  ])('fails with what a transformer throws at %s, and closes its source', async (_, faulty) => {
    let closed = false;
    async function* source() {
      try {
        yield text('a');
      } finally {
        closed = true;
      }
    }
    const { fault } = await collected(transformed(source(), { ...passing, ...faulty }));
    expect(fault).toEqual(new TypeError('bug'));
    // Where it fails before its source is asked, there is nothing to close.
    expect(closed).toBe(!faulty.start);
  });

  it('flushes the transformers above one that fails, and cancels those below', () => {
    const calls: string[] = [];
    const noting = (name: string): StreamTransformer => ({
      ...passing,
      flush: () => void calls.push(`${name} flushed`),
      cancel: () => void calls.push(`${name} cancelled`),
    });
    const { into, seen, told } = pushedThrough(noting('above'), { transform: () => fail() }, noting('below'));
    into.chunk(text('a'));
    into.chunk(text('b'));
    into.end();
    expect(seen).toEqual([new TypeError('bug')]);
    expect(calls).toEqual(['below cancelled', 'above flushed']);
    expect(told).toEqual(['resume', 'stop']);
  });

  it('pauses the upstream while a transformer waits, and keeps the order', async () => {
    const gates: (() => void)[] = [];
    const waiting: StreamTransformer = {
      async transform(chunk, controller) {
        await new Promise<void>(open => gates.push(open));
        controller.enqueue(chunk);
      },
    };
    const { into, seen, told } = pushedThrough(passing, waiting, passing);
    into.chunk(text('a'));
    expect(into.flush()).toBe(false);
    into.chunk(text('b'));
    into.end();
    expect(seen).toEqual([]);
    gates.shift()!();
    await turn();
    expect(seen).toEqual(['a']);
    expect(told).toEqual(['resume']);
    gates.shift()!();
    await turn();
    expect(seen).toEqual(['a', 'b', 'end']);
  });

  it('resumes the upstream once the transformer and the client have caught up', async () => {
    let open = () => {};
    const waiting: StreamTransformer = { transform: () => new Promise(resolve => (open = resolve)) };
    const { into, told, client, stream } = pushedThrough(waiting);
    into.chunk(text('a'));
    into.flush();
    client.keepsUp = false;
    open();
    await turn();
    expect(told).toEqual(['resume']);
    client.keepsUp = true;
    stream.resume();
    expect(told).toEqual(['resume', 'resume']);
  });

  it('yields nothing after its client has left, and cancels each transformer once', () => {
    let controller!: StreamController;
    let cancelled = 0;
    const late: StreamTransformer = {
      start: given => void (controller = given),
      ...passing,
      cancel: () => void cancelled++,
    };
    const { into, seen, told, stream } = pushedThrough(late);
    stream.stop();
    stream.stop();
    controller.enqueue(text('late'));
    into.chunk(text('a'));
    into.end();
    expect([seen, cancelled, told[1]]).toEqual([[], 1, 'stop']);
  });

  it('gives a transformer that asks for `ready` first one chunk at a time, in order', async () => {
    const log: string[] = [];
    let atWork = 0;
    const first: StreamTransformer = {
      async transform(chunk, controller) {
        log.push(`${textsOf([chunk])} ${++atWork}`);
        await controller.ready();
        await turn();
        atWork--;
        controller.enqueue(chunk);
      },
    };
    const double: StreamTransformer = {
      transform(chunk, controller) {
        for (const end of [1, 2]) controller.enqueue(text(`${textsOf([chunk])}${end}`));
      },
    };
    const left = ['a', 'b'].map(text);
    // Gives what waits in the turn in which it is resumed, as chunks that came together.
    const source = {
      pushInto: (sink: ChunkSink) => ({
        resume() {
          const next = left.shift();
          if (!next) return sink.end();
          sink.chunk(next);
          sink.flush();
        },
        stop() {},
      }),
    };
    const stages = [first, double].map((stage, at): Stage => ({ name: `s${at}`, onStream: () => stage }));
    const run = new Chain(stages).enter(sampleExchange({ request: {} }));
    const chunks: Chunk[] = [];
    await new Promise<void>((end, fail) => {
      const sink = { chunk: (chunk: Chunk) => void chunks.push(chunk), flush: () => true, end, fail };
      run.onStream(source).pushInto(sink).resume();
    });
    expect(textsOf(chunks)).toEqual(['a1', 'a2', 'b1', 'b2']);
    expect(log).toEqual(['a1 1', 'a2 1', 'b1 1', 'b2 1']);
  });

  it('does not begin a transformer whose input has ended', async () => {
    const told: string[] = [];
    const start = () => void told.push('start');
    const { seen } = pushedThrough(
      { ...passing, start, flush: () => turn() },
      { ...passing, start: () => fail() },
    );
    await turn();
    await turn();
    expect(seen).toEqual([new TypeError('bug')]);
    expect(told).toEqual([]);
  });

  it('ends where a transformer ends it', () => {
    const first: StreamTransformer = {
      transform(chunk, controller) {
        controller.enqueue(chunk);
        controller.terminate();
      },
    };
    const { into, seen, told } = pushedThrough(pairs(), first);
    into.chunk(text('a'));
    into.chunk(text('b'));
    expect(seen).toEqual(['a', 'end']);
    expect(told).toEqual(['resume', 'stop']);
  });

  it('yields the same with asynchronous transformers and generators, however chunks are grouped', async () => {
    const kinds: Record<string, () => StreamTransformer> = {
      pairs,
      double: () => ({
        transform(chunk, controller) {
          controller.enqueue(chunk);
          controller.enqueue(chunk);
        },
        flush: controller => controller.enqueue(text('more')),
      }),
    };
    const later = (inner: StreamTransformer): StreamTransformer => ({
      async transform(chunk, controller) {
        await turn();
        await inner.transform(chunk, controller);
      },
      async flush(controller) {
        await turn();
        await inner.flush?.(controller);
      },
    });
    const generated = (inner: StreamTransformer): StreamTransformer =>
      fromGenerator(async function* (chunks) {
        const out: Chunk[] = [];
        const controller = {
          enqueue: (chunk: Chunk) => void out.push(chunk),
          terminate() {},
          ready: () => undefined,
        };
        for await (const chunk of chunks) {
          await inner.transform(chunk, controller);
          yield* out.splice(0);
        }
        await inner.flush?.(controller);
        yield* out;
      });
    const manners = { sync: (inner: StreamTransformer) => inner, later, generated };
    const stages = fc.array(
      fc.tuple(fc.constantFrom(...Object.keys(kinds)), fc.constantFrom('sync', 'later', 'generated')),
      { minLength: 1, maxLength: 3 },
    );
    const batches = fc.array(fc.array(fc.string({ minLength: 1, maxLength: 2 }), { maxLength: 4 }), {
      maxLength: 4,
    });
    const play = async (
      chosen: StreamTransformer[],
      given: readonly (readonly string[])[],
      fault?: Error,
    ) => {
      const { into, seen } = pushedThrough(...chosen);
      for (const batch of given) {
        for (const content of batch) into.chunk(text(content));
        into.flush();
        await turn();
      }
      if (fault) into.fail(fault);
      else into.end();
      while (seen.at(-1) !== (fault ?? 'end')) await turn();
      return seen;
    };
    await fc.assert(
      fc.asyncProperty(stages, batches, fc.boolean(), async (chosen, given, fails) => {
        const fault = fails ? new Error('the upstream') : undefined;
        const plain = await play(
          chosen.map(([kind]) => kinds[kind]!()),
          given,
          fault,
        );
        const made = chosen.map(([kind, manner]) => manners[manner as keyof typeof manners](kinds[kind]!()));
        expect(await play(made, given, fault)).toEqual(plain);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a generator as a transformer', () => {
  it('is not pulled while the client does not keep up', async () => {
    let made = 0;
    const generous = fromGenerator(async function* (chunks) {
      for await (const chunk of chunks) for (; made < 1000; made++) yield chunk;
    });
    const { into, client, stream } = pushedThrough(generous);
    await turn();
    client.keepsUp = false;
    into.chunk(text('a'));
    await turn();
    await turn();
    expect(made).toBe(0);
    stream.stop();
  });
});

function fail(): never {
  throw new TypeError('bug');
}
