import { Registry } from 'prom-client';
import type { ChatRequest, Chunk, FinishReason } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { Chain } from '../../../../../src/gateway/exchange/chain.ts';
import { pushIterable } from '../../../../../src/gateway/exchange/push-iterable.ts';
import type { ChunkSink } from '../../../../../src/gateway/exchange/stream.ts';
import { StreamShape } from '../../../../../src/gateway/outbound/stream-shape.ts';
import { StreamMeter } from '../../../../../src/gateway/settlement/stream-meter.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import { PulledStream } from '../../../../../src/testing/pulled-stream.ts';
import { chunkOf, collected, streamOf } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const metrics = new Metrics(new Registry());

/** A request for running usage. */
export const continuous: Partial<ChatRequest> = {
  stream: true,
  stream_options: { continuous_usage_stats: true },
};

/** The chunks that streams are made of. */
export const role = (index = 0) => chunkOf({ role: 'assistant', content: '' }, null, index);
export const text = (content: string, index = 0) => chunkOf({ content }, null, index);
export const end = (index = 0, finish_reason: FinishReason = 'stop') => chunkOf({}, finish_reason, index);
export const told = (prompt: number, completion: number, cached = 0): Chunk => ({
  choices: [],
  usage: usageOf(prompt, completion, cached),
});

/** What a client gets of an upstream's chunks, metered as in a gateway, without any stage. */
export function shaped(
  chunks: readonly Chunk[],
  request: Partial<ChatRequest> = { stream: true },
  fault?: unknown,
) {
  const exchange = sampleExchange({ request });
  const meter = new StreamMeter(exchange, metrics);
  const source = new Chain([]).enter(exchange).onStream(pushIterable(streamOf(chunks, fault)), meter);
  const stream = { pushInto: (sink: ChunkSink) => source.pushInto(new StreamShape(exchange, sink)) };
  return collected(new PulledStream(stream));
}
