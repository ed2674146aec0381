import { Registry } from 'prom-client';
import { streamRechunk } from '../../../../../plugins/stages/stream-rechunk/index.ts';
import type { ChatRequest, Chunk, FinishReason } from '../../../../../src/canonical.ts';
import { usageOf } from '../../../../../src/canonical.ts';
import { metered } from '../../../../../src/settlement/meter.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import { chunkOf, collected, streamOf } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

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

/** What the stage makes of an upstream's chunks, metered as in a gateway. */
export function shaped(
  chunks: readonly Chunk[],
  request: Partial<ChatRequest> = { stream: true },
  fault?: unknown,
) {
  const exchange = sampleExchange({ request });
  const stage = streamRechunk().plan.create(sampleSetup());
  return collected(stage.onStream!(exchange, metered(exchange, streamOf(chunks, fault), metrics)));
}
