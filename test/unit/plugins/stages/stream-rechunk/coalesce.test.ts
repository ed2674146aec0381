import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Coalescer } from '../../../../../plugins/stages/stream-rechunk/coalesce.ts';
import { splitOversized } from '../../../../../plugins/stages/stream-rechunk/split-oversized.ts';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { patience_ms } from '../../../../support/until.ts';
import { assembled, chunkOf, collected, streamOf, transformed } from '../../../chunk-stream.ts';

const texts = (...pieces: string[]) => pieces.map(content => chunkOf({ content }));
const deltas = async (stream: AsyncIterable<Chunk>) =>
  (await collected(stream)).chunks.map(({ choices }) => choices[0]?.delta);

const coalesced = (chunks: AsyncIterable<Chunk>, characters: number, ms: number) =>
  transformed(chunks, new Coalescer(characters, ms));
const cutAbove = (chunks: AsyncIterable<Chunk>, characters: number) =>
  transformed(chunks, splitOversized(characters));
const waits = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));
const patient_ms = 60_000;

const anyPiece = fc.oneof(
  fc.record({ content: fc.string({ minLength: 1, unit: 'grapheme' }) }),
  fc.record({ reasoning: fc.string({ minLength: 1, unit: 'grapheme' }) }),
);
const anyStream = fc.array(
  fc.tuple(anyPiece, fc.nat({ max: 1 })).map(([delta, index]) => chunkOf(delta, null, index)),
);

describe('coalescing small chunks', () => {
  it('sends the first piece at once and joins the rest up to the number of characters', async () => {
    const stream = coalesced(streamOf(texts('a', 'b', 'c', 'd', 'e', 'f')), 3, patient_ms);
    expect(await deltas(stream)).toEqual([{ content: 'a' }, { content: 'bcd' }, { content: 'ef' }]);
  });

  it('passes signed reasoning on, after the reasoning to which it belongs', async () => {
    const signed = { reasoning: 'c', reasoning_details: [{ type: 'reasoning.text', signature: 's' }] };
    const chunks = [{ reasoning: 'a' }, { reasoning: 'b' }, signed, { reasoning: 'd' }].map(delta =>
      chunkOf(delta),
    );
    const stream = coalesced(streamOf(chunks), 100, patient_ms);
    expect(await deltas(stream)).toEqual([
      { reasoning: 'a' },
      { reasoning: 'b' },
      signed,
      { reasoning: 'd' },
    ]);
  });

  it('does not join across reasoning and content, nor past tool calls or the finish', async () => {
    const call = { tool_calls: [{ index: 0, function: { arguments: '{' } }] };
    const stream = coalesced(
      streamOf([
        chunkOf({ reasoning: 'r1' }),
        chunkOf({ reasoning: 'r2' }),
        chunkOf({ content: 'c1' }),
        chunkOf(call),
        chunkOf({ content: 'c2' }),
        chunkOf({}, 'stop'),
      ]),
      1000,
      patient_ms,
    );
    expect(await deltas(stream)).toEqual([
      { reasoning: 'r1' },
      { reasoning: 'r2' },
      { content: 'c1' },
      call,
      { content: 'c2' },
      {},
    ]);
  });

  it.each<[string, Chunk]>([
    ['the role', chunkOf({ role: 'assistant', content: 'x' })],
    ['a refusal', chunkOf({ refusal: 'x', content: 'x' })],
    ['a finish reason', chunkOf({ content: 'x' }, 'stop')],
    [
      'log probabilities',
      { choices: [{ ...chunkOf({ content: 'x' }).choices[0]!, logprobs: { content: [] } }] },
    ],
    ['two choices', { choices: [0, 1].map(index => chunkOf({ content: 'x' }, null, index).choices[0]!) }],
  ])('passes a chunk with %s on as it is', async (_, chunk) => {
    const { chunks } = await collected(
      coalesced(streamOf([...texts('a', 'b'), chunk, ...texts('c', 'd')]), 9, patient_ms),
    );
    expect(chunks).toContainEqual(chunk);
  });

  it('releases a piece that has waited long enough while the upstream is silent', async () => {
    async function* silent() {
      yield* texts('a', 'b');
      await waits(3000);
      yield* texts('c');
    }
    const stream = coalesced(silent(), 1000, 20);
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    const begun_ms = performance.now();
    expect((await iterator.next()).value).toEqual(chunkOf({ content: 'b' }));
    expect(performance.now() - begun_ms).toBeLessThan(patience_ms(2000));
    await iterator.return?.();
  });
});

describe('splitting oversized chunks', () => {
  it('cuts at the number of characters and keeps the finish on the last piece', async () => {
    const stream = cutAbove(streamOf([chunkOf({ content: 'abcdefg' }, 'stop')]), 3);
    const { chunks } = await collected(stream);
    expect(chunks).toEqual([
      chunkOf({ content: 'abc' }),
      chunkOf({ content: 'def' }),
      chunkOf({ content: 'g' }, 'stop'),
    ]);
  });

  it('never cuts inside a character', async () => {
    expect(await deltas(cutAbove(streamOf(texts('a😀b😀')), 2))).toEqual([
      { content: 'a' },
      { content: '😀' },
      { content: 'b' },
      { content: '😀' },
    ]);
    expect(await deltas(cutAbove(streamOf(texts('😀😀')), 1))).toEqual([
      { content: '😀' },
      { content: '😀' },
    ]);
  });

  it('keeps reasoning before the content of the same chunk', async () => {
    const stream = cutAbove(streamOf([chunkOf({ reasoning: 'rrrr', content: 'cccc' })]), 3);
    expect(await deltas(stream)).toEqual([
      { reasoning: 'rrr' },
      { reasoning: 'r' },
      { content: 'ccc' },
      { content: 'c' },
    ]);
  });
});

describe('coalescing and splitting together', () => {
  it('loses nothing, doubles nothing and keeps the order of every choice, for any stream', async () => {
    await fc.assert(
      fc.asyncProperty(anyStream, fc.integer({ min: 1, max: 20 }), async (chunks, size) => {
        const joined = coalesced(streamOf(chunks), size, patient_ms);
        const sized = (await collected(cutAbove(joined, size))).chunks;
        for (const index of [0, 1]) {
          expect(assembled(sized, index)).toEqual(assembled(chunks, index));
          expect(kinds(sized, index)).toEqual(kinds(chunks, index));
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** The alternation of reasoning and content, which neither joining nor cutting may change. */
function kinds(chunks: readonly Chunk[], index: number): string[] {
  const all = chunks.flatMap(({ choices }) =>
    choices.filter(choice => choice.index === index).flatMap(({ delta }) => Object.keys(delta)),
  );
  return all.filter((kind, at) => kind !== all[at - 1]);
}
