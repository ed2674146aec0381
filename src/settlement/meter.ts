import type { Chunk, Completion } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';
import { shownUsage, UsageMeter } from './estimate.ts';

/** The upstream's stream, counted as it passes, so that no stage and no wish of the client can avoid the count. */
export async function* metered(exchange: Exchange, chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  const meter = new UsageMeter(exchange);
  meter.begin();
  try {
    for await (const chunk of chunks) {
      meter.chunk(chunk);
      if (exchange.first_token_ms === undefined && hasText(chunk))
        exchange.first_token_ms = exchange.clock.elapsed_ms();
      yield chunk;
    }
  } finally {
    if (exchange.upstream_wait_ms > 0) meter.end();
  }
}

/** The upstream's whole reply, counted, with the usage that the client will see. */
export async function meteredReply(exchange: Exchange, reply: Promise<Completion>): Promise<Completion> {
  const meter = new UsageMeter(exchange);
  const completion = await reply;
  meter.reply(completion);
  meter.end();
  return { ...completion, usage: shownUsage(exchange) };
}

function hasText({ choices }: Chunk): boolean {
  return choices.some(({ delta }) => delta.content || delta.reasoning || delta.tool_calls?.length);
}
