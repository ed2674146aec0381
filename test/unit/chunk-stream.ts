import * as fc from 'fast-check';
import type { Chunk, ChunkChoice, Delta, FinishReason } from '../../src/gateway/exchange/canonical.ts';
import { Chain, type ChainRun } from '../../src/gateway/exchange/chain.ts';
import type { Exchange } from '../../src/gateway/exchange/exchange.ts';
import { pushIterable } from '../../src/gateway/exchange/push-iterable.ts';
import type { StreamTransformer } from '../../src/gateway/exchange/stream.ts';
import { StreamMeter } from '../../src/gateway/settlement/stream-meter.ts';
import type { TokenCounter } from '../../src/gateway/settlement/token-estimator.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { PulledStream } from '../../src/testing/pulled-stream.ts';
import { sampleExchange } from './sample-exchange.ts';

/** The upstream's stream: these chunks, then the end or `fault`. */
export async function* streamOf(chunks: readonly Chunk[], fault?: unknown): AsyncGenerator<Chunk> {
  yield* chunks;
  if (fault !== undefined) throw fault;
}

/** The upstream's stream through the stages of a chain, read one chunk at a time. */
export function through(passage: ChainRun, chunks: AsyncIterable<Chunk>): PulledStream {
  return new PulledStream(passage.onStream(pushIterable(chunks)));
}

/** The upstream's stream through one transformer. */
export function transformed(
  chunks: AsyncIterable<Chunk>,
  transformer: StreamTransformer | undefined,
): PulledStream {
  const chain = new Chain([{ name: 'stage', onStream: () => transformer }]);
  return through(chain.enter(sampleExchange({ request: {} })), chunks);
}

/** The upstream's stream, counted for `exchange`. */
export function meteredStream(
  exchange: Exchange,
  chunks: AsyncIterable<Chunk>,
  metrics: Metrics,
  newCounter?: () => TokenCounter,
): PulledStream {
  const run = new Chain([]).enter(exchange);
  return new PulledStream(run.onStream(pushIterable(chunks), new StreamMeter(exchange, metrics, newCounter)));
}

/** A chunk with one choice. */
export function chunkOf(delta: Delta, finish_reason: FinishReason | null = null, index = 0): Chunk {
  return { choices: [{ index, delta, finish_reason }] };
}

/** All that a stream yields, and what it threw at its end. */
export async function collected(stream: AsyncIterable<Chunk>): Promise<{ chunks: Chunk[]; fault: unknown }> {
  const chunks: Chunk[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch (fault) {
    return { chunks, fault };
  }
  return { chunks, fault: undefined };
}

/** The choices of all chunks with this index, in their order. */
export function choicesOf(chunks: readonly Chunk[], index = 0): ChunkChoice[] {
  return chunks.flatMap(({ choices }) => choices.filter(choice => choice.index === index));
}

/** What a client has put together for one choice. */
export function assembled(chunks: readonly Chunk[], index = 0): { reasoning: string; content: string } {
  const joined = { reasoning: '', content: '' };
  for (const { delta } of choicesOf(chunks, index)) {
    joined.reasoning += delta.reasoning ?? '';
    joined.content += delta.content ?? '';
  }
  return joined;
}

/** `text` in pieces, cut at these fractions of its length. */
export function cutAt(text: string, fractions: readonly number[]): string[] {
  const places = fractions.map(fraction => Math.floor(fraction * (text.length + 1))).sort((a, b) => a - b);
  return [0, ...places].map((from, at) => text.slice(from, places[at] ?? text.length));
}

/** Any code point, halves of pairs as well. fast-check's own `binary` takes a second and a half to be made. */
export const anyCharacter = fc.nat(0x10ffff).map(code => String.fromCodePoint(code));

/** Where to cut: nowhere, anywhere, or the same place twice, which makes an empty piece. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), {
  maxLength: 12,
});
