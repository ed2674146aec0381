import type { StreamRenderer } from '../dialects/define-dialect.ts';
import type { GatewayError } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ChunkSource } from '../exchange/stream.ts';
import type { StreamLimits } from './reply-limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { StreamShape } from './stream-shape.ts';
import { StreamWriter } from './stream-writer.ts';

/**
 * Sends a stream. An error before the first event is thrown, to become a true HTTP status; a later one becomes the dialect's error event,
 * and the stream ends as every stream does. If the dialect cannot write that, cuts the connection, since the stream must not look complete.
 */
export async function sendStream(
  exchange: Exchange,
  response: ReplySink,
  source: ChunkSource,
  renderer: StreamRenderer,
  toClientError: (thrown: unknown) => GatewayError,
  limits: StreamLimits,
): Promise<void> {
  const writer = new StreamWriter(exchange, response, renderer, limits);
  const stream = source.pushInto(new StreamShape(exchange, writer));
  try {
    await writer.run(stream);
  } catch (thrown) {
    if (exchange.client_gone) return;
    if (!writer.committed) throw thrown;
    const error = toClientError(thrown);
    exchange.end.errorSent(error);
    writer.error(error);
  } finally {
    stream.stop();
    try {
      if (writer.committed && !exchange.client_gone) await writer.finish();
    } finally {
      writer.close();
    }
  }
}
