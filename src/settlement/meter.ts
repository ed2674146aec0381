import type { Chunk, Completion } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { shownUsage, type TokenCounter, UsageMeter } from './estimate.ts';

/** The upstream's stream, counted as it passes, so that no stage and no wish of the client can avoid the count. */
export async function* metered(
  exchange: Exchange,
  chunks: AsyncIterable<Chunk>,
  metrics: Metrics,
  newCounter?: () => TokenCounter,
): AsyncGenerator<Chunk> {
  const meter = new UsageMeter(exchange, newCounter);
  let begun = false;
  meter.begin();
  try {
    for await (const chunk of chunks) {
      begun = true;
      meter.chunk(chunk);
      if (exchange.first_token_ms === undefined && hasText(chunk)) {
        exchange.first_token_ms = exchange.clock.elapsed_ms();
      }
      yield chunk;
    }
  } finally {
    meter.end(begun);
    report(exchange, meter, metrics);
  }
}

/** The upstream's whole reply, counted, with the usage that the client will see. */
export async function meteredReply(
  exchange: Exchange,
  reply: Promise<Completion>,
  metrics: Metrics,
  newCounter?: () => TokenCounter,
): Promise<Completion> {
  const meter = new UsageMeter(exchange, newCounter);
  let begun = false;
  try {
    const completion = await reply;
    begun = true;
    meter.reply(completion);
    // Before the reply is handed on: what the client sees is what is billed.
    meter.end(begun);
    return { ...completion, usage: shownUsage(exchange) };
  } finally {
    if (!begun) meter.end(begun);
    report(exchange, meter, metrics);
  }
}

function report(exchange: Exchange, { error_ratio }: UsageMeter, metrics: Metrics): void {
  if (error_ratio !== undefined) metrics.estimateChecked(exchange, error_ratio);
}

function hasText({ choices }: Chunk): boolean {
  return choices.some(({ delta }) => delta.content || delta.reasoning || delta.tool_calls?.length);
}
