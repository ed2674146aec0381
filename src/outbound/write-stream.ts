import type { Chunk } from '../canonical.ts';
import type { StreamRenderer } from '../dialects/define-dialect.ts';
import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { pump } from './pump.ts';
import type { StreamLimits } from './reply-limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { StreamWriter } from './stream-writer.ts';

/**
 * Sends a stream. An error before the first event is thrown, so that it becomes a true HTTP status; one after it becomes the
 * dialect's error event, and the stream ends as every stream ends (protocol c1 to c3).
 */
export async function writeStream(
  exchange: Exchange,
  response: ReplySink,
  chunks: AsyncIterable<Chunk>,
  renderer: StreamRenderer,
  toClientError: (thrown: unknown) => GatewayError,
  limits: StreamLimits,
): Promise<void> {
  const writer = new StreamWriter(exchange, response, renderer, limits);
  try {
    await pump(chunks, writer);
  } catch (thrown) {
    if (exchange.client_gone) return;
    if (!writer.committed) throw thrown;
    const error = toClientError(thrown);
    exchange.end.errorSent(error.type);
    writer.error(error);
  } finally {
    if (writer.committed && !exchange.client_gone) await writer.end();
    writer.close();
  }
}
